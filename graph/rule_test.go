package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A rule that refuses a node's checkpoint fails the run with its error, as a
// validating saver does; what was on record stays, nothing paid is paid again,
// and once the rule is satisfied the thread goes on.
func TestARuleFailsTheRun(t *testing.T) {
	store, bad, paid := memstore.New(), true, 0
	reason := errors.New("N is out of range")
	led := open(t, store, &ledger.Options{Rules: []posthouse.Rule{{
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
		s.N = 1
		if bad {
			s.N = 100
		}
		return err
	})
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	a := compile(t, g, led, nil)
	_, err := a.Run(t.Context(), "t", trail{N: 7})
	must.Fail(t, err, posthouse.ErrInvalid)
	if !errors.Is(err, reason) {
		t.Errorf("the run failed with %v, which does not say why", err)
	}
	head, err := led.Latest(t.Context(), ledger.LatestQuery{Thread: "t"})
	if err != nil || string(head.State["N"].Data) != "7" {
		t.Errorf("the head has N %s, %v; want what was there before the node", head.State["N"].Data, err)
	}
	bad = false
	out, err := a.Resume(t.Context(), "t")
	if err != nil || out.State.N != 1 || paid != 1 {
		t.Errorf("after the repair: N %d, paid %d times, %v", out.State.N, paid, err)
	}
}

// Records that a task holds back for its step are committed also if that step is
// refused.
func TestARefusedStepKeepsWhatWasHeld(t *testing.T) {
	for _, beside := range []bool{false, true} {
		bad, made := true, 0
		led := open(t, memstore.New(), &ledger.Options{Rules: []posthouse.Rule{{
			Name: "patience", Check: func(_ context.Context, p *posthouse.Proposal) error {
				if bad && p.Header != nil && p.Header.Kind == posthouse.KindNode {
					return errors.New("not yet")
				}
				return nil
			},
		}}})
		g := graph.New[trail]("held")
		g.Node("a", func(ctx context.Context, s *trail) error {
			task, _ := engine.From(ctx)
			r, known := task.Records().Recorded("made")
			if !known {
				made++
				r.Value = posthouse.Value{Codec: "json", Data: []byte("1")}
				task.Records().Hold(r.Step)
			}
			return nil
		})
		g.Node("b", func(context.Context, *trail) error { return nil })
		g.Edge(graph.Start, "a")
		if beside {
			g.Edge(graph.Start, "b")
		} else {
			g.Edge("a", "b")
		}
		g.Edge("a", graph.End)
		g.Edge("b", graph.End)
		a := compile(t, g, led, nil)
		_, err := a.Run(t.Context(), "t", trail{N: 7})
		must.Fail(t, err, posthouse.ErrInvalid)
		bad = false
		if _, err := a.Resume(t.Context(), "t"); err != nil || made != 1 {
			t.Errorf("beside %v: made %d times, %v", beside, made, err)
		}
	}
}
