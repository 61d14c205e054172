package graph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
)

type billed struct{ Name string }

type oldBill struct {
	Amount int
	Rows   []struct{ Amount int } `posthouse:"append"`
	ByName map[string]struct{ Amount int }
}

type newBill struct {
	Cents  int
	Rows   []struct{ Cents int } `posthouse:"append"`
	ByName map[string]struct{ Cents int }
}

// billing is a graph with a subgraph. The subgraph's state is a bill that was made before the
// question.
func billing[S any](life graph.Lifetime, made S, pay func(*S)) *graph.Graph[billed] {
	sub := graph.New[S]("bill")
	sub.Node("make", func(_ context.Context, s *S) error { *s = made; return nil })
	sub.Node("ask", func(ctx context.Context, _ *S) error { _, err := ask(ctx, "ok"); return err })
	sub.Node("pay", func(_ context.Context, s *S) error { pay(s); return nil })
	sub.Edge(graph.Start, "make")
	sub.Edge("make", "ask")
	sub.Edge("ask", "pay")
	sub.Edge("pay", graph.End)
	g := graph.New[billed]("order")
	graph.Subgraph(g, "bill", sub, &graph.SubOptions[billed, S]{In: func(*billed) (s S) { return s }, Lifetime: life})
	g.Edge(graph.Start, "bill")
	g.Edge("bill", graph.End)
	return g
}

// A part that was renamed or dropped in a subgraph's state, in its lists or maps, is a mismatch,
// as one of the graph's own. A migration answers it.
func TestDroppedPartsOfSubgraphsAreMismatches(t *testing.T) {
	for _, life := range []graph.Lifetime{graph.PerCall, graph.PerThread} {
		l := newLedger(t)
		made := oldBill{Amount: 500, Rows: []struct{ Amount int }{{500}}, ByName: map[string]struct{ Amount int }{"a": {500}}}
		out := must.Get(compile(t, billing(life, made, func(*oldBill) {}), l, nil).Run(t.Context(), "t", billed{}))(t)
		decide(t, l, out.Waiting[0].ID, posthouse.Approve)

		var paid []int
		renamed := billing(life, newBill{}, func(s *newBill) { paid = append(paid, s.Cents, s.Rows[0].Cents, s.ByName["a"].Cents) })
		a := compile(t, renamed, l, nil)
		for f, err := range a.Check(t.Context(), nil) {
			if err != nil || f.Kind != graph.FindingFails {
				t.Fatalf("%v: check: %v, %v", life, f.Kind, err)
			}
		}
		_, err := a.Resume(t.Context(), "t")
		changed, ok := errors.AsType[*graph.ChangedError](err)
		if !ok || paid != nil {
			t.Fatalf("%v: %v, and paid was %v", life, err, paid)
		}
		var names []string
		for _, m := range changed.Mismatches {
			names = append(names, m.Name)
		}
		if slices.Sort(names); !slices.Equal(names, []string{"bill/Amount", "bill/ByName", "bill/Rows"}) {
			t.Fatalf("%v: the mismatches are of %v", life, names)
		}
		a = compile(t, renamed, l, &graph.CompileOptions{Migrations: []graph.Migration{{Subgraphs: func(path string, s posthouse.State) (posthouse.State, error) {
			if path != "bill" {
				t.Errorf("a migration of subgraph %q", path)
			}
			for name, v := range s {
				s[name] = posthouse.Value{Codec: v.Codec, Data: []byte(strings.ReplaceAll(string(v.Data), "Amount", "Cents"))}
			}
			s["Cents"] = s["Amount"]
			delete(s, "Amount")
			return s, nil
		}}}})
		if out := must.Get(a.Resume(t.Context(), "t"))(t); out.Status != posthouse.StatusDone || len(paid) != 3 || min(paid[0], paid[1], paid[2]) != 500 {
			t.Fatalf("%v: %s, and paid was %v", life, out.Status, paid)
		}
	}
}

type oldPair struct{ Amount, Note int }
type newPair struct{ Cents, Note int }

// beside is a graph with a node "count" that completed beside one that asks.
func beside[S any](count func(*S)) *graph.Graph[S] {
	g := graph.New[S]("beside")
	g.Node("count", func(_ context.Context, s *S) error { count(s); return nil })
	g.Node("ask", func(ctx context.Context, _ *S) error { _, err := ask(ctx, "ok"); return err })
	g.Edge(graph.Start, "count")
	g.Edge(graph.Start, "ask")
	g.Edge("count", graph.End)
	g.Edge("ask", graph.End)
	return g
}

// A completed parallel node's write to a part that is gone is a mismatch, also for a migration
// that renames the part in the state: the result would be lost in silence.
func TestDroppedPartsOfResultsAreMismatches(t *testing.T) {
	l := newLedger(t)
	out := must.Get(compile(t, beside(func(s *oldPair) { s.Amount = 500 }), l, nil).Run(t.Context(), "t", oldPair{}))(t)
	decide(t, l, out.Waiting[0].ID, posthouse.Approve)
	a := compile(t, beside(func(*newPair) {}), l, &graph.CompileOptions{Migrations: []graph.Migration{{Parts: func(s posthouse.State) (posthouse.State, error) {
		if v, ok := s["Amount"]; ok {
			s["Cents"] = v
			delete(s, "Amount")
		}
		return s, nil
	}}}})
	_, err := a.Resume(t.Context(), "t")
	changed, ok := errors.AsType[*graph.ChangedError](err)
	if !ok || len(changed.Mismatches) != 1 || changed.Mismatches[0].Kind != graph.MismatchResult || !strings.Contains(err.Error(), `part "Amount"`) {
		t.Fatal(err)
	}
}
