package flow_test

import (
	"context"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// TestFlowsOfAnyName runs flows, threads and branches that have separators in
// their names: over a restart, a fork and a release, no step runs twice.
func TestFlowsOfAnyName(t *testing.T) {
	for _, name := range []string{"user@example.com", "a/b", "a+b#1>2", "日本", "50%", "..", strings.Repeat("/", 200)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var keys []string
			open := func() *flow.App[string, string] {
				f := flow.New(name, func(ctx context.Context, in string) (string, error) {
					paid, err := step.Do(ctx, "pay", func(ctx context.Context) (string, error) {
						keys = append(keys, step.Key(ctx))
						return w.effect("pay"), nil
					})
					if err != nil {
						return "", err
					}
					a, err := gate.Ask[any](ctx, gate.Question{Name: "ok"})
					return paid + " " + string(a.Verdict), err
				})
				return must.Get(f.Open(w.ledger(), &flow.Options{HoldFor: -1}))(t)
			}
			const thread = "tenant/42#7@日本 ~"
			out := must.Get(open().Run(t.Context(), thread, "in"))(t)
			if len(out.Waiting) != 1 {
				t.Fatalf("waiting: %+v", out)
			}
			f := must.Get(open().Fork(t.Context(), out.Checkpoint, nil, flow.ForkOptions{Branch: "what/if ~2"}))(t)
			for _, branch := range []string{posthouse.MainBranch, f.Branch} {
				for g, err := range w.ledger().Gates(t.Context(), ledger.GateQuery{Thread: thread}) {
					if err != nil {
						t.Fatal(err)
					}
					if g.Branch == branch {
						must.Get(w.ledger().Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
					}
				}
				out = must.Get(open().Resume(t.Context(), thread, flow.RunOptions{Branch: branch}))(t)
				if len(out.Waiting) == 1 {
					must.Get(w.ledger().Decide(t.Context(), out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
					out = must.Get(open().Resume(t.Context(), thread, flow.RunOptions{Branch: branch}))(t)
				}
				if out.Output != "pay1 approve" {
					t.Errorf("branch %q: %s, %q", branch, out.Status, out.Output)
				}
			}
			if len(keys) != 1 || !strings.HasPrefix(keys[0], "tenant%2F42%237%40日本 %7E/1/"+posthouse.EscapeName(name)+"/pay/") {
				t.Errorf("the step's keys are %q", keys)
			}
			n := 0
			for _, err := range open().History(t.Context(), thread, flow.HistoryOptions{Node: name, Branch: posthouse.MainBranch}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n == 0 {
				t.Error("the flow's checkpoints are not found by its name")
			}
			v := must.Get(open().Release(t.Context(), thread, nil))(t)
			if v.Thread != thread || v.Version != 1 {
				t.Errorf("the release is %+v", v)
			}
		})
	}
}
