package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// planned returns a plan of a fork of a thread's head, and that head.
func planned(t *testing.T, l *ledger.Ledger, thread string) (*ledger.ForkPlan, posthouse.ID) {
	t.Helper()
	head := must.Get(l.Latest(t.Context(), ledger.LatestQuery{Thread: thread}))(t).ID
	p := must.Get(ledger.PlanFork(t.Context(), l, head, nil))(t)
	if text := must.Get(json.Marshal(p))(t); strings.Contains(string(text), "null") {
		t.Errorf("a list that is empty is null: %s", text)
	}
	return p, head
}

// inputOf returns the first checkpoint of a thread.
func inputOf(t *testing.T, l *ledger.Ledger, thread string) posthouse.ID {
	t.Helper()
	for h, err := range l.List(t.Context(), posthouse.Query{Thread: thread, Limit: 1}) {
		must.Do(t, err)
		return h.ID
	}
	t.Fatalf("thread %s has no checkpoint", thread)
	return ""
}

// TestPlanForkOfAFailedEffect: a fork at the head of a run that failed in an effect says that the approval does not
// count there, that the effect is tried again, and why it failed. The fork does what was planned.
func TestPlanForkOfAFailedEffect(t *testing.T) {
	ctx := t.Context()
	l := must.Get(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))(t)
	paid := 0
	app := payment(t, l, func(context.Context) (string, error) { paid++; return "", gate.NotDone(errBank) })
	approved(t, l, app, "invoice-1")
	p, head := planned(t, l, "invoice-1")
	if fmt.Sprint(names(p.Kept), names(p.Again), names(p.Acts)) != "[look] [] [pay]" || p.Acts[0].Grant == "" {
		t.Errorf("it keeps %v, runs %v again and acts by %+v", names(p.Kept), names(p.Again), p.Acts)
	}
	if len(p.Tried) != 1 || p.Tried[0].Name != "pay" || p.Tried[0].Attempts != 1 || p.Tried[0].Status != grants.Decided || p.Tried[0].Error != errBank.Error() {
		t.Errorf("it tries again %+v", p.Tried)
	}
	if len(p.Asks) != 1 || p.Asks[0].Name != "payment" || p.Asks[0].Open || p.Asks[0].Waits || len(p.Decided) != 0 {
		t.Errorf("it asks %+v, and answered is %+v", p.Asks, p.Decided)
	}
	if e := p.End; e.Checkpoint != head || e.Status != posthouse.StatusFailed || e.Error == "" || fmt.Sprint(e.Next) != "[payment]" || e.Branch != "main" {
		t.Errorf("its source ends at %+v", e)
	}
	early := must.Get(ledger.PlanFork(ctx, l, inputOf(t, l, "invoice-1"), nil))(t)
	if fmt.Sprint(names(early.Again), names(early.Acts)) != "[look] [pay]" || len(early.Asks) != 1 || len(early.Tried) != 1 || early.End.Checkpoint != head {
		t.Errorf("from the input on it is %+v", early)
	}

	f := must.Get(l.Fork(ctx, head, nil))(t)
	paid = 0
	out := must.Get(app.Resume(ctx, "invoice-1", flow.RunOptions{Branch: f.Branch}))(t)
	if len(out.Waiting) != 1 || out.Waiting[0].Name != "payment" || paid != 0 {
		t.Errorf("the fork waits for %+v, and paid %d times", out.Waiting, paid)
	}
}

// TestPlanForkOfAnUnknownEffect: an attempt that may have acted is said to, and the fork asks what became of it.
func TestPlanForkOfAnUnknownEffect(t *testing.T) {
	ctx := t.Context()
	l := must.Get(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))(t)
	app := payment(t, l, func(context.Context) (string, error) { return "", fmt.Errorf("lost: %w", posthouse.ErrUnknown) })
	approved(t, l, app, "invoice-2")
	p, head := planned(t, l, "invoice-2")
	if len(p.Tried) != 1 || p.Tried[0].Status != grants.Unknown || fmt.Sprint(names(p.Acts)) != "[pay]" {
		t.Errorf("it tries %+v again and acts by %v", p.Tried, names(p.Acts))
	}
	_, _ = app.Resume(ctx, "invoice-2") // now people are asked what became of it
	early := must.Get(ledger.PlanFork(ctx, l, inputOf(t, l, "invoice-2"), nil))(t)
	if len(early.Asks) != 1 || early.Asks[0].Name != "payment" || early.End.Status != posthouse.StatusWaiting {
		t.Errorf("from the input on it asks %+v and ends at %+v", early.Asks, early.End)
	}
	f := must.Get(l.Fork(ctx, head, nil))(t)
	out := must.Get(app.Resume(ctx, "invoice-2", flow.RunOptions{Branch: f.Branch}))(t)
	for len(out.Waiting) == 1 && out.Waiting[0].Name == "payment" {
		must.Get(l.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "carol"}))(t)
		out = must.Get(app.Resume(ctx, "invoice-2", flow.RunOptions{Branch: f.Branch}))(t)
	}
	if len(out.Waiting) != 1 || out.Waiting[0].Kind != "outcome" {
		t.Errorf("the fork waits for %+v", out.Waiting)
	}
}

// TestPlanForkOfAFailedNode: results and answers of the node that failed count in the fork, and its steps without a
// result are tried again. Once the source went on and ended, all is listed as what it did.
func TestPlanForkOfAFailedNode(t *testing.T) {
	ctx := t.Context()
	l := must.Get(ledger.Open(memstore.New(), nil))(t)
	ran, down := map[string]int{}, true
	do := func(ctx context.Context, name string, effect posthouse.Effect) error {
		_, err := step.DoWith(ctx, name, step.Options{Effect: effect, Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}}, func(context.Context) (int, error) {
			ran[name]++
			if name == "book" && down {
				return 0, errBank
			}
			return 1, nil
		})
		return err
	}
	g := graph.New[forkedOrder]("order")
	g.Node("check", func(ctx context.Context, s *forkedOrder) error {
		if err := do(ctx, "look", posthouse.EffectRead); err != nil {
			return err
		}
		if _, err := gate.Ask[any](ctx, gate.Question{Name: "sure", Show: s.Amount}); err != nil {
			return err
		}
		return do(ctx, "book", posthouse.EffectWrite)
	})
	g.Edge(graph.Start, "check")
	g.Edge("check", graph.End)
	app := must.Get(g.Compile(l, nil))(t)
	out := must.Get(app.Run(ctx, "order-1", forkedOrder{Amount: 40}))(t)
	must.Get(l.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "carol"}))(t)
	if _, err := app.Resume(ctx, "order-1"); !errors.Is(err, errBank) {
		t.Fatalf("it ended with %v", err)
	}
	p, head := planned(t, l, "order-1")
	if fmt.Sprint(names(p.Kept), names(p.Again), names(p.Acts)) != "[look] [] [book]" || len(p.Asks) != 0 {
		t.Errorf("the plan is %+v", p)
	}
	if len(p.Decided) != 1 || p.Decided[0].Name != "sure" || p.Decided[0].Verdict != posthouse.Approve || p.Decided[0].By != "carol" {
		t.Errorf("answered is %+v", p.Decided)
	}
	if len(p.Tried) != 1 || p.Tried[0].Name != "book" || p.Tried[0].Attempts != 1 || p.Tried[0].Error != errBank.Error() || p.Tried[0].Status != "" {
		t.Errorf("tried is %+v", p.Tried)
	}
	f := must.Get(l.Fork(ctx, head, nil))(t)
	ran, down = map[string]int{}, false
	out, err := app.Resume(ctx, "order-1", graph.RunOptions{Branch: f.Branch})
	if err != nil || out.Status != posthouse.StatusDone || fmt.Sprint(ran) != "map[book:1]" {
		t.Errorf("the fork is %s after %v: %v", out.Status, ran, err)
	}
	must.Get(app.Resume(ctx, "order-1"))(t)
	p = must.Get(ledger.PlanFork(ctx, l, head, nil))(t)
	if fmt.Sprint(names(p.Again), names(p.Acts)) != "[book] [book]" || len(p.Tried) != 0 || p.End.Status != posthouse.StatusDone || len(p.End.Next) != 0 {
		t.Errorf("once its source is done the plan is %+v", p)
	}
}

// TestPlanForkOfAFailureAfterASignal: a signal that came counts in a fork, and a wait for another attempt is not a question.
func TestPlanForkOfAFailureAfterASignal(t *testing.T) {
	ctx, l := t.Context(), open(t, nil)
	first := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"call"}}}))(t)
	c := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"call"}}, Gates: []posthouse.Gate{
		{Name: "signal:go", Task: "1/call", Kind: posthouse.GateSignal, Signal: "go"}, {Name: "price>$retry-1", Task: "1/call", Kind: posthouse.GateTimer, ExpiresAt: time.Now().Add(time.Hour)},
	}}))(t)
	must.Get(l.Signal(ctx, "t", posthouse.Signal{Name: "go", By: "dana"}))(t)
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Next: []string{"call"}, Error: "no"}}))(t)
	p, _ := planned(t, l, "t")
	if len(p.Decided) != 1 || p.Decided[0].Kind != posthouse.GateSignal || p.Decided[0].Gate != c.Gates[0].ID {
		t.Errorf("answered is %+v", p.Decided)
	}
	p = must.Get(ledger.PlanFork(ctx, l, first.Checkpoint.ID, nil))(t)
	if len(p.Asks) != 1 || p.Asks[0].Name != "signal:go" || p.End.Error != "no" {
		t.Errorf("from the begin on it asks %+v, and its source ends at %+v", p.Asks, p.End)
	}
}
