package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// A loose state holds interfaces in each way that a state can.
type loose struct {
	Any   any
	Map   map[string]any
	Deep  []map[string]any
	Log   []any          `posthouse:"append"`
	Keys  map[string]any `posthouse:"merge"`
	Typed int64
}

type pair struct{ B, A any }

// fill leaves values of many types in interfaces.
func fill(n int, s *loose) {
	values := []any{n, int64(1 << 53), float32(0.5), uint8(n), pair{n, "x"}, &pair{}, []int{n}, map[string]int{"n": n}, []any(nil), map[string]any{"deep": []string{"a"}}, nil, "text", true}
	s.Any = values[n%len(values)]
	s.Map = map[string]any{"a": values[(n+1)%len(values)], "b": values[(n+2)%len(values)]}
	s.Deep = append(s.Deep, map[string]any{"x": values[(n+3)%len(values)]})
	s.Log = append(s.Log, values[(n+4)%len(values)], values[(n+5)%len(values)])
	if s.Keys == nil {
		s.Keys = map[string]any{}
	}
	s.Keys[fmt.Sprint(n)] = values[(n+6)%len(values)]
	s.Typed = 9007199254740993
}

// The values that a node sees in interfaces do not depend on whether the process
// was restarted before it, nor on whether the node before it made a checkpoint.
func TestNodesSeeWhatARestartWouldShow(t *testing.T) {
	onStores(t, func(t *testing.T, store posthouse.Store) {
		const nodes = 13
		seen := map[string][]string{}
		build := func(l *ledger.Ledger, thread string, o *graph.CompileOptions) *graph.App[loose] {
			g := graph.New[loose]("loose")
			at := graph.Start
			for i := range nodes {
				name := fmt.Sprintf("n%d", i)
				g.Node(name, func(_ context.Context, s *loose) error {
					seen[thread] = append(seen[thread], fmt.Sprintf("%#v", *s))
					fill(i, s)
					if i%4 == 3 { // another value of the same encoding
						s.Any, s.Map = 5.0, map[string]any{"same": 7.0}
					} else if i%4 == 0 && i > 0 {
						s.Any, s.Map = 5, map[string]any{"same": 7}
					}
					return nil
				})
				g.Edge(at, name)
				at = name
			}
			g.Edge(at, graph.End)
			return compile(t, g, l, o)
		}
		var in loose
		fill(1, &in)
		whole := must.Get(build(open(t, store, nil), "whole", nil).Run(t.Context(), "whole", in))(t)
		none := must.Get(build(open(t, store, nil), "none", &graph.CompileOptions{Snapshots: graph.SnapshotNone}).Run(t.Context(), "none", in))(t)
		l := open(t, store, nil)
		out := must.Get(build(l, "torn", nil).Run(t.Context(), "torn", in, graph.RunOptions{InterruptAfter: []string{"*"}}))(t)
		for out.Status == posthouse.StatusInterrupted {
			l = open(t, store, nil)
			out = must.Get(build(l, "torn", nil).Resume(t.Context(), "torn", graph.RunOptions{InterruptAfter: []string{"*"}}))(t)
		}
		for i := range nodes {
			if a, b, c := seen["whole"][i], seen["torn"][i], seen["none"][i]; a != b || a != c {
				t.Fatalf("node %d saw\n%s\nafter a restart\n%s\nwithout checkpoints\n%s", i, a, b, c)
			}
		}
		want := fmt.Sprintf("%#v", out.State)
		for thread, r := range map[string]*graph.Result[loose]{"whole": whole, "none": none} {
			if have := fmt.Sprintf("%#v", r.State); have != want {
				t.Fatalf("%s returned\n%s\nwant\n%s", thread, have, want)
			}
		}
	})
}

// A number that an interface would lose digits of is refused, wherever it comes
// from; one that has a type of its own is not.
func TestNumbersThatLoseDigitsAreRefused(t *testing.T) {
	const big = int64(9007199254740993)
	for name, c := range map[string]struct {
		field string
		set   func(s *loose)
	}{
		"any":    {"Any", func(s *loose) { s.Any = big }},
		"map":    {"Map", func(s *loose) { s.Map = map[string]any{"x": []any{big}} }},
		"deep":   {"Deep", func(s *loose) { s.Deep = []map[string]any{{"x": pair{big, nil}}} }},
		"append": {"Log", func(s *loose) { s.Log = append(s.Log, big) }},
		"merge":  {"Keys", func(s *loose) { s.Keys = map[string]any{"x": uint64(big)} }},
	} {
		t.Run(name, func(t *testing.T) {
			for _, beside := range []bool{false, true} {
				g := graph.New[loose]("big")
				g.Node("n", func(_ context.Context, s *loose) error { s.Typed = big; c.set(s); return nil })
				g.Node("m", func(context.Context, *loose) error { return nil })
				g.Edge(graph.Start, "n")
				g.Edge("n", graph.End)
				g.Edge("m", graph.End)
				if beside {
					g.Edge(graph.Start, "m")
				} else {
					g.Edge("n", "m")
				}
				a := compile(t, g, newLedger(t), nil)
				_, err := a.Run(t.Context(), "t", loose{})
				wantField(t, err, c.field)
				var in loose
				c.set(&in)
				_, err = a.Run(t.Context(), "u", in)
				wantField(t, err, c.field)
				_, err = a.Update(t.Context(), "t", c.set)
				wantField(t, err, c.field)
			}
		})
	}
}

func wantField(t *testing.T, err error, field string) {
	t.Helper()
	must.Fail(t, err, posthouse.ErrInvalid)
	var e *posthouse.Error
	if !errors.As(err, &e) || e.Field != field || e.Hint == "" {
		t.Fatalf("error %v, field %q", err, e.Field)
	}
}
