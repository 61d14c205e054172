package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/store/memstore"
)

// A rule that refuses a node's checkpoint fails the run with its error, as a
// validating saver does; what was on record stays, nothing paid is paid again,
// and once the rule is satisfied the thread goes on.
func TestARuleFailsTheRun(t *testing.T) {
	store, bad, paid := memstore.New(), true, 0
	reason := errors.New("N is out of range")
	ledger := open(t, store, &posthouse.Options{Rules: []posthouse.Rule{{
		Name: "range", Check: func(_ context.Context, p *posthouse.Proposal) error {
			c, err := p.Checkpoint()
			if c == nil || err != nil || p.Header.Status == posthouse.StatusFailed {
				return err
			}
			if string(c.State["N"].Data) == "100" {
				return reason
			}
			return nil
		},
	}}})
	g := graph.New[trail]("ruled")
	g.Node("a", func(ctx context.Context, s *trail) error {
		_, err := do(ctx, "pay", func() (int, error) { paid++; return paid, nil })
		if s.N = 1; bad {
			s.N = 100
		}
		return err
	})
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	a := compile(t, g, ledger, nil)
	_, err := a.Run(t.Context(), "t", trail{N: 7})
	wantCode(t, err, posthouse.ErrInvalid)
	if !errors.Is(err, reason) {
		t.Errorf("the run failed with %v, which does not say why", err)
	}
	head, err := ledger.Latest(t.Context(), posthouse.LatestQuery{Thread: "t"})
	if err != nil || string(head.State["N"].Data) != "7" {
		t.Errorf("the head has N %s, %v; want what was there before the node", head.State["N"].Data, err)
	}
	bad = false
	out, err := a.Resume(t.Context(), "t")
	if err != nil || out.State.N != 1 || paid != 1 {
		t.Errorf("after the repair: N %d, paid %d times, %v", out.State.N, paid, err)
	}
}
