package graph_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
)

func TestInterruptBefore(t *testing.T) {
	a := compile(t, line("a", "b", "c"), newLedger(t), &graph.CompileOptions{InterruptBefore: []string{"a", "c"}})
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	if out.Status != posthouse.StatusInterrupted || len(out.State.Nodes) != 0 {
		t.Fatalf("result %+v", out)
	}
	wantList(t, "next", out.Next, "a")
	out = must.Get(a.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "b")
	wantList(t, "next", out.Next, "c")
	out = must.Get(a.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "b", "c")
	if out.Status != posthouse.StatusDone || len(history(t, a, "t")) != 4 {
		t.Fatalf("status %q, %d checkpoints: an interrupt makes none of its own", out.Status, len(history(t, a, "t")))
	}
}

func TestInterruptAfter(t *testing.T) {
	a := compile(t, line("a", "b"), newLedger(t), &graph.CompileOptions{InterruptAfter: []string{"a", "b"}})
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	if out.Status != posthouse.StatusInterrupted {
		t.Fatalf("result %+v", out)
	}
	wantList(t, "nodes", out.State.Nodes, "a")
	out = must.Get(a.Resume(t.Context(), "t"))(t)
	if out.Status != posthouse.StatusDone {
		t.Fatalf("after the last node the run is done: %+v", out)
	}
}

func TestInterruptEverywhere(t *testing.T) {
	for _, o := range []*graph.CompileOptions{{InterruptBefore: []string{"*"}}, {InterruptAfter: []string{"*"}}} {
		a := compile(t, line("a", "b", "c"), newLedger(t), o)
		out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
		stops := 0
		for ; out.Status == posthouse.StatusInterrupted; stops++ {
			out = must.Get(a.Resume(t.Context(), "t"))(t)
		}
		want := 2 // after a and b
		if o.InterruptBefore != nil {
			want = 3
		}
		if stops != want || len(out.State.Nodes) != 3 {
			t.Errorf("%+v: %d stops, want %d; nodes %q", o, stops, want, out.State.Nodes)
		}
	}
}

// A node that leads to itself raises "after" each time, and "before" each time
// but for the first step after a resume.
func TestInterruptInASelfLoop(t *testing.T) {
	for _, o := range []graph.NodeOptions{{InterruptBefore: true}, {InterruptAfter: true}} {
		g := graph.New[trail]("self")
		g.Node("a", visit("a"), o)
		g.Edge(graph.Start, "a")
		g.Route("a", func(s *trail) string {
			if len(s.Nodes) == 3 {
				return graph.End
			}
			return "a"
		})
		a := compile(t, g, newLedger(t), nil)
		out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
		for n := len(out.State.Nodes); n < 3; n++ {
			if out.Status != posthouse.StatusInterrupted || len(out.State.Nodes) != n {
				t.Fatalf("%+v: output %+v", o, out)
			}
			out = must.Get(a.Resume(t.Context(), "t"))(t)
		}
		if out.Status != posthouse.StatusDone {
			t.Fatalf("%+v: output %+v", o, out)
		}
	}
}

// The last node of a subgraph is not the last of the run: it stops there, at
// each depth, and what a command said about the graph around it holds.
func TestInterruptAfterTheLastNodeOfASubgraph(t *testing.T) {
	for _, own := range []bool{false, true} {
		for _, life := range []graph.Lifetime{graph.PerCall, graph.PerThread} {
			l := newLedger(t)
			deep := graph.New[innerState]("deep")
			deep.Node("a", visitInner("a"), graph.NodeOptions{InterruptAfter: true})
			deep.Edge(graph.Start, "a")
			deep.Edge("a", graph.End)
			sub := graph.New[innerState]("sub")
			o := &graph.SubOptions[innerState, innerState]{
				Out:       func(s, in *innerState) error { s.Notes = append(s.Notes, in.Notes...); return nil },
				OwnThread: own, Lifetime: life, Node: graph.NodeOptions{InterruptAfter: true},
			}
			graph.Subgraph(sub, "deep", deep, o)
			sub.Edge(graph.Start, "deep")
			sub.Edge("deep", graph.End)
			g := graph.New[outerState]("outer")
			graph.Subgraph(g, "sub", sub, &graph.SubOptions[outerState, innerState]{
				Out:       func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil },
				OwnThread: own, Lifetime: life,
			})
			g.Node("last", func(_ context.Context, s *outerState) error { s.Log = append(s.Log, "last"); return nil }, graph.NodeOptions{InterruptAfter: true})
			g.Edge(graph.Start, "sub")
			g.Edge("sub", "last")
			g.Edge("last", graph.End)
			app := compile(t, g, l, nil)
			out := must.Get(app.Run(t.Context(), "t", outerState{}))(t)
			stops := 0
			for ; out.Status == posthouse.StatusInterrupted; stops++ {
				if len(out.State.Log) > 0 {
					t.Fatalf("own %t: stop %d is behind the subgraph: %q", own, stops, out.State.Log)
				}
				if !own {
					within := must.Get(graph.Within[innerState](t.Context(), l, out.Checkpoint, []string{"sub/deep", "sub"}[stops]))(t)
					wantList(t, "notes", within.Notes, "a")
				}
				out = must.Get(app.Resume(t.Context(), "t"))(t)
			}
			if stops != 2 || out.Status != posthouse.StatusDone {
				t.Fatalf("own %t, lifetime %d: %d stops, %s", own, life, stops, out.Status)
			}
			wantList(t, "log", out.State.Log, "a", "last")
			must.Get(app.Run(t.Context(), "t", outerState{}))(t) // it stands where it can be called again
		}
	}
}

// A command to the graph around a subgraph is not forgotten if the run stops
// after it.
func TestInterruptAfterACommandOfASubgraph(t *testing.T) {
	l := newLedger(t)
	sub := graph.New[innerState]("sub")
	sub.Command("a", func(context.Context, *innerState) (graph.Command, error) {
		return graph.Command{Goto: []string{"there"}, Parent: true}, nil
	}, graph.NodeOptions{InterruptAfter: true})
	sub.Node("b", visitInner("b"))
	sub.Edge(graph.Start, "a")
	sub.Edge("a", "b")
	sub.Edge("b", graph.End)
	g := graph.New[outerState]("outer")
	graph.Subgraph(g, "sub", sub, &graph.SubOptions[outerState, innerState]{})
	for _, n := range []string{"here", "there"} {
		g.Node(n, func(_ context.Context, s *outerState) error { s.Log = append(s.Log, n); return nil })
		g.Edge(n, graph.End)
	}
	g.Edge(graph.Start, "sub")
	g.Route("sub", func(*outerState) string { return "here" }, "here", "there")
	app := compile(t, g, l, nil)
	if out := must.Get(app.Run(t.Context(), "t", outerState{}))(t); out.Status != posthouse.StatusInterrupted {
		t.Fatalf("output %+v", out)
	}
	out := must.Get(app.Resume(t.Context(), "t"))(t)
	wantList(t, "log", out.State.Log, "there")
}

// Interrupts of one call add to those of the graph, and are gone with it.
func TestInterruptsOfOneCall(t *testing.T) {
	l := newLedger(t)
	a := compile(t, line("a", "b", "c", "d"), l, &graph.CompileOptions{InterruptBefore: []string{"d"}})
	before := func(n ...string) graph.RunOptions { return graph.RunOptions{InterruptBefore: n} }
	after := func(n ...string) graph.RunOptions { return graph.RunOptions{InterruptAfter: n} }
	all := before("*")
	out := must.Get(a.Run(t.Context(), "t", trail{}, before("a", "c")))(t)
	for i, o := range []graph.RunOptions{after("a"), before("c"), {InterruptBefore: []string{"c"}, InterruptAfter: []string{"c"}}, all} {
		if out.Status != posthouse.StatusInterrupted {
			t.Fatalf("%d: output %+v", i, out)
		}
		wantList(t, "next", out.Next, []string{"a", "b", "c", "d"}[i])
		out = must.Get(a.Resume(t.Context(), "t", o))(t)
	}
	if out.Status != posthouse.StatusDone || len(history(t, a, "t")) != 5 {
		t.Fatalf("output %+v", out)
	}
	out = must.Get(a.Run(t.Context(), "t", trail{}))(t)
	wantList(t, "without them", out.Next, "d")

	past := history(t, a, "t", graph.HistoryOptions{Node: "a"})[0]
	out = must.Get(a.Replay(t.Context(), past.ID, after("b")))(t)
	wantList(t, "a replay", out.Next, "c")
	_, names := collect(t, a.Stream(t.Context(), "streamed", trail{}, after("*")))
	wantList(t, "a stream", names, "input", "a", "park")
	h := must.Get(a.Start(t.Context(), "background", trail{}, before("c")))(t)
	wantList(t, "in the background", must.Get(h.Result())(t).Next, "c")

	for _, o := range []graph.RunOptions{before("nobody"), after("a", "nobody")} {
		_, err := a.Run(t.Context(), "new", trail{}, o)
		must.Fail(t, err, posthouse.ErrInvalid)
	}
	_, err := a.State(t.Context(), "new")
	must.Fail(t, err, posthouse.ErrNotFound)
}

// They are of the graph that is run: a subgraph with nodes of the same names
// does not stop at them, and the place of an inlined one does.
func TestInterruptsOfOneCallAndSubgraphs(t *testing.T) {
	g := graph.New[trail]("outer")
	g.Node("a", visit("a"))
	g.Inline("in", line("a", "b"))
	graph.Subgraph(g, "sub", line("a", "b"), &graph.SubOptions[trail, trail]{
		Out: func(s, in *trail) error { s.Nodes = append(s.Nodes, in.Nodes...); return nil },
	})
	from := graph.Start
	for _, n := range []string{"a", "in", "sub", graph.End} {
		g.Edge(from, n)
		from = n
	}
	app := compile(t, g, newLedger(t), nil)
	stops := func(o graph.RunOptions) (at []string) {
		out := must.Get(app.Run(t.Context(), "t", trail{}, o))(t)
		for ; out.Status == posthouse.StatusInterrupted; out = must.Get(app.Resume(t.Context(), "t", o))(t) {
			at = append(at, out.Next...)
		}
		return at
	}
	wantList(t, "before", stops(graph.RunOptions{InterruptBefore: []string{"a", "in", "in.b"}}), "a", "in.start", "in.b")
	wantList(t, "after", stops(graph.RunOptions{InterruptAfter: []string{"a", "in", "sub"}}), "in.start", "sub")
}

// A node that completed while its run's context ended does not run again, also if
// it is the last one and the run was to stop after it.
func TestContextEndsInTheLastNode(t *testing.T) {
	for _, after := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		ran := 0
		a := compile(t, single(func(context.Context, *trail) error { ran++; cancel(); return nil }, graph.NodeOptions{InterruptAfter: after}), newLedger(t), nil)
		out, err := a.Run(ctx, "t", trail{})
		if err != nil || out.Status != posthouse.StatusDone || must.Get(a.Resume(t.Context(), "t"))(t).Status != posthouse.StatusDone || ran != 1 {
			t.Errorf("interrupted after %v: it ran %d times; %+v, %v", after, ran, out, err)
		}
	}
}
