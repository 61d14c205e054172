package notify

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
)

// approver returns how approvals of gates are made for an endpoint: nil for a gate that its person may
// not decide. An error is the store's, or the file's of its secret.
func (n *Notifier) approver(e *Endpoint) func(context.Context, *posthouse.Gate) (*Approval, error) {
	keyed, _ := e.Channel.(Keyed)
	return func(ctx context.Context, g *posthouse.Gate) (*Approval, error) {
		keys, err := keyed.ApprovalKeys()
		if err != nil {
			return nil, err
		}
		a, err := n.approve(ctx, &ApprovalRequest{Gate: g, Endpoint: e.Name, Person: e.DecideFor, Key: keys[0]})
		if own, ok := errors.AsType[*posthouse.Error](err); ok && own.Code != posthouse.CodeUnavailable && own.Code != posthouse.CodeUnknown {
			n.log.Info("a question is told without an approval", "endpoint", e.Name, "gate", g.ID, "person", e.DecideFor, "error", err)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		base, id := strings.TrimSuffix(n.url, "/"), url.PathEscape(string(g.ID))
		a.Link, a.URL = base+"/decide/"+id+"#"+a.Token, base+"/api/gates/"+id+"/decide-by-token"
		return a, nil
	}
}
