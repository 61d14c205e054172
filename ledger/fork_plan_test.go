package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

type forkedOrder struct {
	Amount int
	Paid   bool
}

// forkedProgram analyzes, asks, pays and tells, with a result on record before and after the question.
func forkedProgram(t *testing.T, l *ledger.Ledger) *graph.App[forkedOrder] {
	g := graph.New[forkedOrder]("refund")
	do := func(ctx context.Context, name string, effect posthouse.Effect) error {
		_, err := step.DoWith(ctx, name, step.Options{Effect: effect}, func(context.Context) (int, error) { return 1, nil })
		return err
	}
	g.Node("approve", func(ctx context.Context, s *forkedOrder) error {
		if err := do(ctx, "look", posthouse.EffectRead); err != nil {
			return err
		}
		_, err := gate.Ask[any](ctx, gate.Question{Name: "refund", Show: s.Amount, Expires: time.Hour})
		if err != nil {
			return err
		}
		return do(ctx, "score", posthouse.EffectPure)
	})
	g.Node("pay", func(ctx context.Context, s *forkedOrder) error {
		s.Paid = true
		return do(ctx, "transfer", posthouse.EffectExternal)
	})
	g.Edge(graph.Start, "approve")
	g.Edge("approve", "pay")
	g.Edge("pay", graph.End)
	return must.Get(g.Compile(l, nil))(t)
}

func names(steps []ledger.ForkStep) (all []string) {
	for _, s := range steps {
		all = append(all, s.Name)
	}
	return all
}

// TestPlanForkSaysWhatAForkDoes plans forks of each checkpoint of a run that has ended, and compares
// what the plan says of the beginning with the fork itself.
func TestPlanForkSaysWhatAForkDoes(t *testing.T) {
	ctx, store := context.Background(), memstore.New()
	l := must.Get(ledger.Open(store, nil))(t)
	app := forkedProgram(t, l)
	out := must.Get(app.Run(ctx, "order-1", forkedOrder{Amount: 40}))(t)
	wait := out.Checkpoint
	must.Get(l.Decide(ctx, out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	must.Get(app.Resume(ctx, "order-1"))(t)
	before := must.Get(l.Thread(ctx, "order-1"))(t).Tail

	p := must.Get(ledger.PlanFork(ctx, l, wait, nil))(t)
	if fmt.Sprint(names(p.Kept), names(p.Again), names(p.Acts)) != "[look] [score transfer] [transfer]" {
		t.Errorf("of the question it keeps %v, runs %v again, and acts by %v", names(p.Kept), names(p.Again), names(p.Acts))
	}
	if len(p.Asks) != 1 || p.Asks[0].Name != "refund" || !p.Asks[0].Open || p.Status != posthouse.StatusWaiting || p.Branch != "fork-1" {
		t.Errorf("the fork would be %+v", p)
	}
	changed := &ledger.ForkOptions{Patch: posthouse.State{"Amount": {Codec: "json", Data: []byte("35")}}}
	p = must.Get(ledger.PlanFork(ctx, l, wait, changed))(t)
	if len(p.Asks) != 1 || p.Asks[0].Open || p.Status != posthouse.StatusInterrupted {
		t.Errorf("with another amount the fork would be %+v", p)
	}
	for c, err := range l.List(ctx, posthouse.Query{Thread: "order-1"}) {
		must.Do(t, err)
		must.Get(ledger.PlanFork(ctx, l, c.ID, nil))(t)
	}
	if after := must.Get(l.Thread(ctx, "order-1"))(t).Tail; after != before {
		t.Errorf("plans wrote something: the log ends at %v, and did at %v", after, before)
	}

	// The fork is what was planned.
	for _, o := range []*ledger.ForkOptions{nil, changed, {Thread: "order-2"}} {
		p := must.Get(ledger.PlanFork(ctx, l, wait, o))(t)
		f := must.Get(l.Fork(ctx, wait, o))(t)
		opened := 0
		for _, g := range p.Asks {
			if g.Open {
				opened++
			}
		}
		if f.Status != p.Status || f.Branch != p.Branch || f.Thread != p.Thread || len(f.Gates) != opened {
			t.Errorf("planned as %+v the fork is %s of %s, %s, with %d gates", p, f.Branch, f.Thread, f.Status, len(f.Gates))
		}
	}
	if _, err := ledger.PlanFork(ctx, l, wait, &ledger.ForkOptions{Thread: "order-2"}); !errors.Is(err, posthouse.ErrExists) {
		t.Errorf("into a thread that exists: %v", err)
	}
	if _, err := ledger.PlanFork(ctx, l, wait, &ledger.ForkOptions{Branch: "fork-1"}); !errors.Is(err, posthouse.ErrExists) {
		t.Errorf("as a branch that exists: %v", err)
	}
	if _, err := ledger.PlanFork(ctx, l, wait, &ledger.ForkOptions{Patch: posthouse.State{"Amuont": {Codec: "json", Data: []byte("1")}}}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("with a part that is not there: %v", err)
	}
	if _, err := ledger.PlanFork(ctx, l, "nothing", nil); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("of a checkpoint that is not there: %v", err)
	}
}

// TestPlanForkNamesNodes: of what the runtime records beside results it shows that a node completed, by the
// node's name.
func TestPlanForkNamesNodes(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	from := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"a/b"}}}))(t)
	for _, name := range []string{"$note", "$attempt", "price", "$failed", "$done"} {
		s := posthouse.Step{Task: "3/fetch>1/a%2Fb#2", Name: name, Effect: posthouse.EffectExternal, Value: posthouse.Value{Codec: "json", Data: []byte("1")}}
		must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Steps: []posthouse.Step{s}}))(t)
	}
	p := must.Get(ledger.PlanFork(ctx, l, from.Checkpoint.ID, nil))(t)
	if got := fmt.Sprint(names(p.Again), names(p.Acts)); got != "[price a/b] [price a/b]" {
		t.Errorf("it runs and acts again as %s", got)
	}
}

// TestDecisionHasNothingOfTheLedgers: what the Ledger sets in a decision is not taken from who decides.
func TestDecisionHasNothingOfTheLedgers(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	c := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{{Name: "ok?"}}}))(t)
	g := must.Get(l.Decide(ctx, c.Gates[0].ID, posthouse.Decision{
		Verdict: posthouse.Approve, By: "alice", Requesters: []string{"carol"}, For: "dora", Signal: 7, Successor: "gate-x", Trail: 9,
		BeganAt: time.Unix(5, 0), Notes: []posthouse.Note{{Line: "forged"}},
	}))(t)
	if d := g.Decision; len(d.Requesters) > 0 || d.For != "" || d.Signal != 0 || d.Successor != "" || d.Trail != 0 || !d.BeganAt.IsZero() || len(d.Notes) > 0 {
		t.Errorf("on record is %+v", d)
	}
}

// Look at what a fork would keep and do again, before there is one.
func ExamplePlanFork() {
	ctx := context.Background()
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	c, err := led.Commit(ctx, &ledger.Draft{Thread: "order-1234", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{{Name: "refund", Text: "Refund order 1234?"}}})
	if err != nil {
		panic(err)
	}
	plan, err := ledger.PlanFork(ctx, led, c.Checkpoint.ID, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Branch, "would be", plan.Status)
	for _, g := range plan.Asks {
		fmt.Println("and ask", g.Name, "at once:", g.Open)
	}
	// Output:
	// fork-1 would be waiting
	// and ask refund at once: true
}
