package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
)

type amounts struct {
	Amount int
	Pay    struct{ Amount int }
	Lines  []struct{ Amount int } `posthouse:"append"`
}

type cents struct {
	Cents int
	Pay   struct{ Cents int }
	Lines []struct{ Cents int } `posthouse:"append"`
}

func payingOne[S any](pay func(s *S)) *graph.Graph[S] {
	g := graph.New[S]("pay")
	g.Node("ask", func(ctx context.Context, _ *S) error { _, err := ask(ctx, "ok"); return err })
	g.Node("pay", func(_ context.Context, s *S) error { pay(s); return nil })
	g.Edge(graph.Start, "ask")
	g.Edge("ask", "pay")
	g.Edge("pay", graph.End)
	return g
}

// TestRenamedFieldsAreMismatches renames a field of the state, of a struct in it and of a
// list's elements: what people approved must not become 0. A migration answers it.
func TestRenamedFieldsAreMismatches(t *testing.T) {
	l := newLedger(t)
	in := amounts{Amount: 500, Lines: []struct{ Amount int }{{500}}}
	in.Pay.Amount = 500
	out := must.Get(compile(t, payingOne(func(*amounts) {}), l, nil).Run(t.Context(), "t", in))(t)
	decide(t, l, out.Waiting[0].ID, posthouse.Approve)

	var paid []int
	renamed := payingOne(func(s *cents) { paid = append(paid, s.Cents, s.Pay.Cents, s.Lines[0].Cents) })
	a := compile(t, renamed, l, nil)
	for f, err := range a.Check(t.Context(), nil) {
		if err != nil || f.Kind == graph.FindingFits {
			t.Fatalf("check: %v, %v", f.Kind, err)
		}
	}
	_, err := a.Resume(t.Context(), "t")
	changed, ok := errors.AsType[*graph.ChangedError](err)
	if !ok || len(changed.Mismatches) != 3 || paid != nil {
		t.Fatalf("%v, and paid was %v", err, paid)
	}
	a = compile(t, renamed, l, &graph.CompileOptions{Migrations: []graph.Migration{{Parts: func(s posthouse.State) (posthouse.State, error) {
		for name, v := range s {
			s[name] = posthouse.Value{Codec: v.Codec, Data: []byte(strings.ReplaceAll(string(v.Data), "Amount", "Cents"))}
		}
		s["Cents"] = s["Amount"]
		delete(s, "Amount")
		return s, nil
	}}}})
	if out := must.Get(a.Resume(t.Context(), "t"))(t); out.Status != posthouse.StatusDone || len(paid) != 3 || min(paid[0], paid[1], paid[2]) != 500 {
		t.Fatalf("%s, and paid was %v", out.Status, paid)
	}
}
