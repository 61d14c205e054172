package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/step"
)

// A select of a worker's task and the customer's signal: whichever is over first wins, and the
// other is withdrawn.
func TestSelectOfARemoteTask(t *testing.T) {
	for _, first := range []string{"customer", "worker"} {
		t.Run(first, func(t *testing.T) {
			w, ctx := newWorld(t), t.Context()
			l := w.ledger()
			a := must.Get(flow.New("order", func(ctx context.Context, _ string) (string, error) {
				won, err := step.Select(ctx, "ship",
					step.When("worker", func(ctx context.Context) (string, error) { return step.Remote[string](ctx, "pack", "pack", 7) }),
					step.When("customer", func(ctx context.Context) (string, error) {
						return step.Signal[string](ctx, "withdrawn", step.SignalOptions{})
					}))
				if err != nil {
					return "", err
				}
				return step.Do(ctx, "tell", func(context.Context) (string, error) {
					return w.effect("tell") + " " + won.Case + ": " + won.Value, nil
				})
			}).Open(l, nil))(t)
			res, err := a.Run(ctx, "t", "")
			wantStatus(t, res, err, posthouse.StatusWaiting)
			g, want := theTask(t, l, "t"), "tell1 worker: packed"
			if first == "worker" {
				resolve(t, l, g, commit.TaskOutcome{Output: json.RawMessage(`"packed"`)})
			} else {
				want = "tell1 customer: too late"
				must.Get(l.Signal(ctx, "t", posthouse.Signal{Name: "withdrawn", Value: json.RawMessage(`"too late"`), By: "customer"}))(t)
			}
			for range 2 {
				res, err = a.Resume(ctx, "t")
				wantStatus(t, res, err, posthouse.StatusDone)
				if res.Output != want {
					t.Errorf("the output is %q, want %q", res.Output, want)
				}
			}
			info := must.Get(l.Thread(ctx, "t"))(t)
			if len(info.Waiting) != 0 {
				t.Errorf("it still waits for %+v", info.Waiting)
			}
			_, _, err = commit.ResolveTask(ctx, l.Core(), commit.GateRef{Gate: g.ID}, &commit.TaskOutcome{By: "worker:w1", Output: json.RawMessage(`"late"`)})
			if !errors.Is(err, posthouse.ErrDecided) {
				t.Errorf("a late result of the worker: %v", err)
			}
			w.want("[tell]")
		})
	}
}
