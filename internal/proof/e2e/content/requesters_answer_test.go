package content_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
)

// Who answers a question cannot approve what is asked after it, on this branch and in a thread that a fork
// begins, unless the question allows it. Who approved one can.
func TestWhoAnswersIsARequester(t *testing.T) {
	for name, allow := range map[string]bool{"refused": false, "allowed": true} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				which := func(ctx context.Context) (string, error) {
					to, err := gate.Ask[string](ctx, gate.Question{Name: "account", Text: "Which account?"})
					return to.Value, err
				}
				ask := func(ctx context.Context, to string) error {
					if _, err := gate.Ask[string](ctx, gate.Question{Name: "sure", Text: "Sure?", AllowRequester: allow}); err != nil {
						return err
					}
					_, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?", AllowRequester: allow}, bankTransfer{to, 99})
					return err
				}
				f := func() *flow.App[int, string] {
					return must(flow.New("f", func(ctx context.Context, _ int) (string, error) {
						to, err := which(ctx)
						if err != nil {
							return "", err
						}
						return "", ask(ctx, to)
					}).Open(h.ledger, nil))(h)
				}
				n := func() *graph.App[bill] {
					g := graph.New[bill]("g")
					g.Node("which", func(ctx context.Context, _ *bill) error { _, err := which(ctx); return err })
					g.Node("ask", func(ctx context.Context, _ *bill) error { return ask(ctx, "mallory") })
					g.Edge(graph.Start, "which")
					g.Edge("which", "ask")
					g.Edge("ask", graph.End)
					return must(g.Compile(h.ledger, nil))(h)
				}
				must(f().Run(h.Context(), "f", 1, flow.RunOptions{By: "bob"}))(h)
				must(n().Run(h.Context(), "g", bill{}, graph.RunOptions{By: "bob"}))(h)
				resume := func(thread string) {
					h.restart()
					if strings.HasPrefix(thread, "f") {
						must(f().Resume(h.Context(), thread))(h)
						return
					}
					must(n().Resume(h.Context(), thread))(h)
				}
				for _, thread := range []string{"f", "g"} {
					must(h.ledger.Decide(h.Context(), h.only(thread).ID, posthouse.Decision{Verdict: posthouse.Respond, By: "mallory", Actor: "olga", Value: json.RawMessage(`"mallory"`)}))(h)
					resume(thread)
					h.decide(h.only(thread).ID, posthouse.Approve, "carol")
					must(h.ledger.Fork(h.Context(), must(h.ledger.Thread(h.Context(), thread))(h).Branches[0].Head, &ledger.ForkOptions{Thread: thread + "-away"}))(h)
					for _, at := range []string{thread, thread + "-away"} {
						resume(at)
						g := h.only(at)
						if !allow {
							h.requested(g, "bob", "mallory", "olga")
						}
						for _, by := range []string{"mallory", "olga"} {
							_, err := h.ledger.Decide(h.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: by})
							var e *posthouse.Error
							if !allow && (!errors.As(err, &e) || e.Code != posthouse.CodeForbidden || !strings.Contains(e.Hint, "AllowRequester")) {
								h.Errorf("%s: %s approves: %v", at, by, err)
							}
							if allow && err != nil {
								h.Errorf("%s, %s: %v", at, g.Name, err)
							}
							if allow {
								break
							}
						}
						if !allow {
							h.decide(g.ID, posthouse.Approve, "carol")
						}
					}
				}
			})
		})
	}
}
