package host

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/link"
)

// passes returns what a link asks for each call: what the token allows that a worker shows, or
// the one that has the name which its user's permissions pin.
func passes(ts *tokens.List) func(worker string) (*task.Pass, error) {
	return func(worker string) (*task.Pass, error) {
		t, ok, err := ts.Find(func(t *tokens.Token) bool {
			return t.Role.May(tokens.Worker) && (t.Name == worker || link.AddressOf(t.Hash) == worker)
		})
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, &posthouse.Error{
				Code: posthouse.CodeForbidden, Message: "there is no token for a worker named " + worker,
				Hint: "make one where the server's data directory is: posthouse token create --name NAME --role worker; a worker of other NATS servers calls itself by that name",
			}
		}
		return t.Pass(), nil
	}
}
