package content_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/transfer"
)

// A copy of a thread whose checkpoints a policy removed goes on as the thread and its forks do:
// it finds what every wait of the execution came to.
func TestACopyAfterRetentionKeepsAnswers(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		onStores(t, func(h *house) {
			app := must(flow.New("talk", func(ctx context.Context, _ int) (string, error) {
				if unordered {
					ctx = step.Unordered(ctx)
				}
				if err := step.Sleep(ctx, "first", time.Minute); err != nil {
					return "", err
				}
				payee, err := step.Signal[string](ctx, "payee", step.SignalOptions{})
				if err != nil {
					return "", err
				}
				a, err := gate.Ask[string](ctx, gate.Question{Name: "who", Text: "who?", Verdicts: []posthouse.Verdict{posthouse.Respond}})
				if err != nil {
					return "", err
				}
				made, err := step.Remote[string](ctx, "made", "pay", 1)
				if err != nil {
					return "", err
				}
				for i := range 3 {
					if err := step.Sleep(ctx, fmt.Sprint("z", i), time.Hour); err != nil {
						return "", err
					}
				}
				return payee + " " + a.Value + " " + made, nil
			}).Open(h.ledger, nil))(h)
			goOn := func(later time.Duration) {
				h.now = h.now.Add(later)
				must(app.Resume(h.Context(), "t"))(h)
			}
			must(app.Run(h.Context(), "t", 10))(h)
			must(h.ledger.Signal(h.Context(), "t", posthouse.Signal{Name: "payee", Value: json.RawMessage(`"bob"`)}))(h)
			goOn(time.Hour)
			must(h.ledger.Decide(h.Context(), h.only("t").ID, posthouse.Decision{Verdict: posthouse.Respond, By: "alice", Value: json.RawMessage(`"carl"`)}))(h)
			goOn(0)
			k := h.desk()
			k.paid(k.claim())
			k.stop()
			goOn(0)
			goOn(2 * time.Hour)
			h.now = h.now.Add(24 * time.Hour)
			must(retain.Run(h.Context(), h.ledger, retain.Policy{MaxPerThread: 1}, nil))(h)
			head := must(h.ledger.Latest(h.Context(), ledger.LatestQuery{Thread: "t"}))(h)
			must(h.ledger.Fork(h.Context(), head.ID, &ledger.ForkOptions{Thread: "late"}))(h)
			must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
			for _, thread := range []string{"t", "late", "copy"} {
				var res *flow.Result[string]
				for range 4 {
					h.now = h.now.Add(2 * time.Hour)
					res = must(app.Resume(h.Context(), thread))(h)
				}
				if res.Output != "bob carl paid" {
					h.Errorf("%s: %s %q, waits for %+v", thread, res.Status, res.Output, res.Waiting)
				}
			}
		})
	}
}
