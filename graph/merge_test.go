package graph_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/memstore"
)

// A merge function that fails or panics fails the run, by name, with the state
// from before the step; what the tasks did is kept and merged once it works.
func TestMergeFunctionThatFails(t *testing.T) {
	for how, says := range map[string]string{"error": "no bids", "panic": "on the floor"} {
		t.Run(how, func(t *testing.T) {
			type state struct {
				N   int
				Bid int
			}
			var ran atomic.Int32
			broken := true
			g := graph.New[state]("bids")
			for i, n := range []string{"a", "b"} {
				g.Node(n, func(_ context.Context, s *state) error { ran.Add(1); s.Bid = 10 + i; return nil })
				g.Edge(graph.Start, n)
				g.Edge(n, graph.End)
			}
			graph.Merge(g, "Bid", func(_ int, writes []int) (int, error) {
				switch {
				case broken && how == "panic":
					panic(says)
				case broken:
					return 0, errors.New(says)
				}
				return writes[0] + writes[1], nil
			})
			app := compile(t, g, newLedger(t), nil)
			_, err := app.Run(t.Context(), "t", state{N: 7})
			var m *graph.MergeError
			if !errors.As(err, &m) || m.Part != "Bid" || len(m.Nodes) != 2 || !strings.Contains(err.Error(), says) {
				t.Fatal(err)
			}
			if s := must.Get(app.State(t.Context(), "t"))(t); s.Status != posthouse.StatusFailed || s.State.Bid != 0 || s.State.N != 7 {
				t.Fatalf("%+v", s)
			}
			broken = false
			if out := must.Get(app.Resume(t.Context(), "t"))(t); out.State.Bid != 21 || ran.Load() != 2 {
				t.Fatalf("%+v, %d nodes ran", out.State, ran.Load())
			}
		})
	}
}

// A part of an interface type begins as nil, and a task may leave nil in it.
func TestMergeOfNilInterfaces(t *testing.T) {
	type state struct{ Best any }
	g := graph.New[state]("any")
	for n, v := range map[string]any{"a": "found", "b": nil} {
		g.Node(n, func(_ context.Context, s *state) error { s.Best = v; return nil })
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	graph.Merge(g, "Best", func(base any, writes []any) (any, error) {
		for _, w := range writes {
			if w != nil {
				return w, nil
			}
		}
		return base, nil
	})
	app := compile(t, g, newLedger(t), nil)
	if out := must.Get(app.Run(t.Context(), "new", state{}))(t); out.State.Best != "found" {
		t.Fatal(out.State)
	}
	if out := must.Get(app.Run(t.Context(), "old", state{Best: "stale"}))(t); out.State.Best != "found" {
		t.Fatal(out.State)
	}
}

// A sum that does not fit its type is an error, never another number.
func TestSumThatDoesNotFit(t *testing.T) {
	type state struct {
		Signed   int64 `posthouse:"sum"`
		Unsigned uint8 `posthouse:"sum"`
	}
	for part, change := range map[string]func(s *state){
		"Signed":   func(s *state) { s.Signed += math.MaxInt64 },
		"Unsigned": func(s *state) { s.Unsigned += 200 },
	} {
		g := graph.New[state]("sum")
		for _, n := range []string{"a", "b"} {
			g.Node(n, func(_ context.Context, s *state) error { change(s); return nil })
			g.Edge(graph.Start, n)
			g.Edge(n, graph.End)
		}
		_, err := compile(t, g, newLedger(t), nil).Run(t.Context(), "t", state{})
		var m *graph.MergeError
		if !errors.As(err, &m) || m.Part != part || !strings.Contains(err.Error(), "does not fit") {
			t.Errorf("part %v, error %v", part, err)
		}
	}
	g := graph.New[state]("sum")
	for _, n := range []string{"a", "b"} { // each takes away from what both began with
		g.Node(n, func(_ context.Context, s *state) error { s.Unsigned -= 90; return nil })
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	if out := must.Get(compile(t, g, newLedger(t), nil).Run(t.Context(), "t", state{Unsigned: 200}))(t); out.State.Unsigned != 20 {
		t.Fatal(out.State)
	}
}

// Tasks of one node that disagree are told apart.
func TestMergeErrorTellsSendsApart(t *testing.T) {
	g := graph.New[trail]("g")
	g.Map(graph.Start, func(*trail) []graph.Send { return []graph.Send{{Node: "t", Input: 1}, {Node: "t", Input: 2}} }, "t")
	graph.Task(g, "t", func(_ context.Context, in int, out *trail) error { out.N = in; return nil })
	g.Edge("t", graph.End)
	_, err := compile(t, g, newLedger(t), nil).Run(t.Context(), "t", trail{})
	var m *graph.MergeError
	if !errors.As(err, &m) {
		t.Fatal(err)
	}
	wantList(t, "tasks", m.Nodes, "t#1", "t#2")
}

// To max and min a 0 that is on record is a value, at any depth, also after a
// fork and in another process; a part that was never anything but zero is not.
func TestMaxAndMinOverAZeroOnRecord(t *testing.T) {
	type state struct {
		Max int     `posthouse:"max"`
		Min float64 `posthouse:"min"`
	}
	bids := func(reset bool) *graph.Graph[state] {
		g := graph.New[state]("bids")
		from := graph.Start
		if reset {
			g.Node("set", func(_ context.Context, s *state) error { s.Max, s.Min = 3, 3; return nil })
			g.Node("reset", func(ctx context.Context, s *state) error {
				return errors.Join(graph.Overwrite(ctx, &s.Max, 0), graph.Overwrite(ctx, &s.Min, 0))
			}, graph.NodeOptions{InterruptAfter: true})
			g.Edge(graph.Start, "set")
			g.Edge("set", "reset")
			from = "reset"
		}
		for i, n := range []string{"a", "b"} {
			g.Node(n, func(_ context.Context, s *state) error { s.Max, s.Min = -5-i, 5+2*float64(i); return nil })
			g.Edge(from, n)
			g.Edge(n, graph.End)
		}
		return g
	}
	for _, reset := range []bool{true, false} {
		want := state{Max: -5, Min: 5}
		if reset {
			want = state{}
		}
		for how, inner := range map[string]*graph.SubOptions[state, state]{
			"alone": nil, "inside": {}, "kept": {Lifetime: graph.PerThread}, "own thread": {OwnThread: true}, "inlined": {},
		} {
			store := memstore.New()
			g := bids(reset)
			if how == "inlined" {
				g = graph.New[state]("outer")
				g.Inline("sub", bids(reset))
			} else if inner != nil {
				inner.Out = func(s, in *state) error { *s = *in; return nil }
				g = graph.New[state]("outer")
				graph.Subgraph(g, "sub", bids(reset), inner)
			}
			if inner != nil {
				g.Edge(graph.Start, "sub")
				g.Edge("sub", graph.End)
			}
			out := must.Get(compile(t, g, open(t, store, nil), nil).Run(t.Context(), "t", state{}))(t)
			app := compile(t, g, open(t, store, nil), nil)
			lines := []graph.RunOptions{{}}
			if reset {
				must.Get(app.Update(t.Context(), "t", nil))(t)
				f := must.Get(app.Fork(t.Context(), out.Checkpoint, nil))(t)
				e := must.Get(app.Fork(t.Context(), out.Checkpoint, func(*state) {}))(t)
				lines = append(lines, graph.RunOptions{Branch: f.Branch}, graph.RunOptions{Branch: e.Branch})
			} else if out.State != want {
				t.Errorf("%s: run: %+v, want %+v", how, out.State, want)
			}
			for _, o := range lines {
				if out := must.Get(app.Resume(t.Context(), "t", o))(t); out.State != want || out.Status != posthouse.StatusDone {
					t.Errorf("%s, reset %t, %+v: %+v, want %+v", how, reset, o, out, want)
				}
			}
		}
	}
}

// An update by hand of something else does not make a part that was never
// anything but zero a value of 0.
func TestUpdateLeavesAbsentParts(t *testing.T) {
	type state struct {
		Name string
		Max  int `posthouse:"max"`
	}
	g := graph.New[state]("g")
	for i, n := range []string{"a", "b"} {
		g.Node(n, func(_ context.Context, s *state) error { s.Max = -1 - i; return nil }, graph.NodeOptions{InterruptBefore: true})
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	app := compile(t, g, newLedger(t), nil)
	out := must.Get(app.Run(t.Context(), "t", state{}))(t)
	must.Get(app.Update(t.Context(), "t", func(s *state) { s.Name = "x" }))(t)
	f := must.Get(app.Fork(t.Context(), out.Checkpoint, func(s *state) { s.Name = "y" }))(t)
	for _, o := range []graph.RunOptions{{}, {Branch: f.Branch}} {
		if out := must.Get(app.Resume(t.Context(), "t", o))(t); out.State.Max != -1 {
			t.Errorf("%+v: out.State %+v", o, out.State)
		}
	}
}
