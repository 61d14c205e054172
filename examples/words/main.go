// Command words hands its one step to workers on other hosts. Your problem: the work needs
// what the server's host does not have, any process may die, and there shall be more than
// one server.
//
//	go build ./examples/words
//	./words serve --nats-listen 127.0.0.1:4222
//	./words worker --nats nats://127.0.0.1:4222 --plain --task "words=wc -w"
//	./words send count "one two three"
//
// The section about more than one machine in docs/operations.md runs this program on three hosts, with
// Postgres and TLS. The flow waits for its worker without a process, so it does not matter
// which server goes on with it.
package main

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/all"
	"github.com/posthouse/posthouse/task/natslink"
)

func main() {
	app.Main(app.Programs{Name: "words", OpenStore: all.Open, OpenLink: natslink.Open, Open: open})
}

// count counts the words of a text where there is a worker for the task words.
func count(ctx context.Context, text string) (int, error) {
	return step.Remote[int](ctx, "words", "words", text)
}

func open(_ context.Context, env *app.Env) (*app.Set, error) {
	c, err := flow.New("count", count).Open(env.Ledger, nil)
	if err != nil {
		return nil, err
	}
	return &app.Set{
		Programs: []posthouse.Program{c},
		Agents:   map[string]server.Agent{"count": app.FlowAgent(env, c, nil)},
		Next:     `send count "one two three"`,
	}, nil
}
