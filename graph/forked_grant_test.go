package graph_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestAForkOutlivesItsSource: a fork in a thread of its own, made between a proposal and its
// effect, asks about the same content again once its source is deleted, and then pays.
func TestAForkOutlivesItsSource(t *testing.T) {
	type order struct {
		Amount int
		Grant  gate.Grant
		Paid   int
	}
	for _, removal := range []string{"none", "thread"} {
		ctx := context.Background()
		l, err := ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()})
		if err != nil {
			t.Fatal(err)
		}
		g := graph.New[order]("pay")
		g.Node("propose", func(ctx context.Context, s *order) (err error) {
			s.Grant, err = gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay this?"}, s.Amount)
			return err
		})
		g.Node("pay", func(ctx context.Context, s *order) (err error) {
			s.Paid, err = gate.Act(ctx, "transfer", s.Grant, func(_ context.Context, n int) (int, error) { return n, nil })
			return err
		})
		g.Edge(graph.Start, "propose")
		g.Edge("propose", "pay")
		g.Edge("pay", graph.End)
		app, err := g.Compile(l, nil)
		if err != nil {
			t.Fatal(err)
		}
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", removal, err)
			}
		}
		approve := func(r *graph.Result[order]) {
			t.Helper()
			if len(r.Waiting) != 1 {
				t.Fatalf("%s: it waits for %+v", removal, r.Waiting)
			}
			_, err := l.Decide(ctx, r.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
			ok(err)
		}
		r, err := app.Run(ctx, "t", order{Amount: 7})
		ok(err)
		approve(r)
		_, err = app.Resume(ctx, "t", graph.RunOptions{InterruptAfter: []string{"propose"}})
		ok(err)
		head, err := l.Latest(ctx, ledger.LatestQuery{Thread: "t"})
		ok(err)
		_, err = l.Fork(ctx, head.ID, &ledger.ForkOptions{Thread: "fork"})
		ok(err)
		if removal == "thread" {
			_, err = retain.DeleteThread(ctx, l, "t", nil)
			ok(err)
		}
		r, err = app.Resume(ctx, "fork")
		ok(err)
		approve(r)
		r, err = app.Resume(ctx, "fork")
		ok(err)
		if r.State.Paid != 7 {
			t.Errorf("%s: r.State %+v", removal, r.State)
		}
	}
}
