package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/memstore"
)

// picking is a graph with a node "pick" that leads where the state says.
func picking(o ...graph.NodeOptions) *graph.Graph[trail] {
	g := graph.New[trail]("forked")
	g.Node("pick", func(_ context.Context, s *trail) error {
		s.Nodes, s.Go = append(s.Nodes, "pick"), "left"
		return nil
	}, o...)
	g.Node("left", visit("left"))
	g.Node("right", visit("right"))
	g.Edge(graph.Start, "pick")
	g.Route("pick", func(s *trail) string { return s.Go }, "left", "right", graph.End)
	g.Edge("left", graph.End)
	g.Edge("right", graph.End)
	return g
}

// stoppedAt wants a run that stopped after nodes.
func stoppedAt(t *testing.T, out *graph.Result[trail], next ...string) {
	t.Helper()
	if out.Status != posthouse.StatusInterrupted {
		t.Fatalf("out.Status %s, out.State %+v", out.Status, out.State)
	}
	wantList(t, "next", out.Next, next...)
}

// TestInterruptBeforeEdges lets an update change the way, whatever makes
// checkpoints, and in another process.
func TestInterruptBeforeEdges(t *testing.T) {
	for _, durability := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		for _, snapshots := range []graph.Snapshots{graph.SnapshotDefault, graph.SnapshotNone, graph.SnapshotBefore} {
			t.Run(fmt.Sprint(durability, snapshots), func(t *testing.T) {
				store := memstore.New()
				o := &graph.CompileOptions{InterruptBeforeEdges: []string{"pick"}, Snapshots: snapshots}
				a := compile(t, picking(), open(t, store, nil), o)
				out := must.Get(a.Run(t.Context(), "t", trail{}, graph.RunOptions{Durability: durability}))(t)
				stoppedAt(t, out, "pick")
				must.Get(a.Update(t.Context(), "t", func(s *trail) { s.Go = "right" }))(t)
				again := compile(t, picking(), open(t, store, nil), nil)
				out = must.Get(again.Resume(t.Context(), "t"))(t)
				wantList(t, "nodes", out.State.Nodes, "pick", "right")
				if out.Status != posthouse.StatusDone {
					t.Errorf("output %+v", out)
				}
			})
		}
	}
}

func TestInterruptBeforeEdgesGoesOnWithoutAnUpdate(t *testing.T) {
	a := compile(t, picking(graph.NodeOptions{InterruptBeforeEdges: true}), newLedger(t), nil)
	stoppedAt(t, must.Get(a.Run(t.Context(), "t", trail{}))(t), "pick")
	out := must.Get(a.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "pick", "left")

	// To the end: an interrupt after the last node does not stop before it.
	stoppedAt(t, must.Get(a.Run(t.Context(), "end", trail{}))(t), "pick")
	must.Get(a.Update(t.Context(), "end", func(s *trail) { s.Go = graph.End }))(t)
	out = must.Get(a.Resume(t.Context(), "end"))(t)
	if out.Status != posthouse.StatusDone || len(out.Next) != 0 {
		t.Errorf("output %+v", out)
	}
	wantList(t, "nodes", out.State.Nodes, "pick")
	if s := must.Get(a.State(t.Context(), "end"))(t); s.Status != posthouse.StatusDone {
		t.Errorf("on record it is %s", s.Status)
	}

	// An update that says where to go on is not asked again.
	for as, o := range map[string]graph.UpdateOptions{"right": {AsNode: "pick"}, "left": {Goto: "left"}} {
		must.Get(a.Run(t.Context(), as, trail{}))(t)
		s := must.Get(a.Update(t.Context(), as, func(s *trail) { s.Go = "right" }, o))(t)
		wantList(t, "next", s.Next, as)
		out := must.Get(a.Resume(t.Context(), as))(t)
		wantList(t, "nodes", out.State.Nodes, "pick", as)
	}

	// A way that cannot be taken fails the run, and can be put right.
	must.Get(a.Run(t.Context(), "lost", trail{}))(t)
	must.Get(a.Update(t.Context(), "lost", func(s *trail) { s.Go = "nowhere" }))(t)
	_, err := a.Resume(t.Context(), "lost")
	must.Fail(t, err, posthouse.ErrInvalid)
	if e := (&graph.NodeError{}); !errors.As(err, &e) || e.Node != "pick" {
		t.Errorf("%v", err)
	}
	must.Get(a.Update(t.Context(), "lost", func(s *trail) { s.Go = "right" }))(t)
	out = must.Get(a.Resume(t.Context(), "lost"))(t)
	wantList(t, "nodes", out.State.Nodes, "pick", "right")
}

// TestInterruptBeforeEdgesOfSeveral stops once after parallel nodes: joins count
// them when the run goes on, tasks lead on once.
func TestInterruptBeforeEdgesOfSeveral(t *testing.T) {
	g := graph.New[trail]("several")
	g.Node("a", visit("a"), graph.NodeOptions{InterruptBeforeEdges: true})
	g.Node("b", visit("b"))
	g.Node("c", visit("c"))
	g.Node("both", visit("both"))
	g.Edge(graph.Start, "a")
	g.Edge(graph.Start, "b")
	g.Edge("b", "c")
	g.Join("both", "a", "c")
	g.Edge("both", graph.End)
	a := compile(t, g, newLedger(t), nil)
	stoppedAt(t, must.Get(a.Run(t.Context(), "t", trail{}))(t), "a", "c")
	out := must.Get(a.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "b", "c", "both")

	m := graph.New[trail]("mapped")
	m.Map(graph.Start, func(*trail) []graph.Send {
		return []graph.Send{{Node: "work", Input: 1}, {Node: "work", Input: 2}, {Node: "work", Input: 3}}
	}, "work")
	graph.Task(m, "work", func(_ context.Context, in int, out *trail) error { out.Nodes = []string{fmt.Sprint(in)}; return nil })
	m.Node("sum", visit("sum"))
	m.Edge("work", "sum")
	m.Edge("sum", graph.End)
	a = compile(t, m, newLedger(t), &graph.CompileOptions{InterruptBeforeEdges: []string{"*"}})
	stoppedAt(t, must.Get(a.Run(t.Context(), "t", trail{}))(t), "work")
	stoppedAt(t, must.Get(a.Resume(t.Context(), "t"))(t), "sum")
	out = must.Get(a.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "1", "2", "3", "sum")
}

// TestInterruptBeforeEdgesBesideAFailure: the run stops after completed nodes
// when the step is done at last.
func TestInterruptBeforeEdgesBesideAFailure(t *testing.T) {
	g := graph.New[trail]("beside")
	fails := true
	g.Node("a", visit("a"), graph.NodeOptions{InterruptBeforeEdges: true})
	g.Node("b", func(context.Context, *trail) error {
		if fails {
			return errors.New("not yet")
		}
		return nil
	})
	g.Node("left", visit("left"))
	g.Node("right", visit("right"))
	g.Edge(graph.Start, "a")
	g.Edge(graph.Start, "b")
	g.Route("a", func(s *trail) string { return s.Go }, "left", "right")
	g.Edge("b", graph.End)
	g.Edge("left", graph.End)
	g.Edge("right", graph.End)
	a := compile(t, g, newLedger(t), nil)
	if _, err := a.Run(t.Context(), "t", trail{Go: "left"}); err == nil {
		t.Fatal("b did not fail")
	}
	fails = false
	stoppedAt(t, must.Get(a.Resume(t.Context(), "t"))(t), "a")
	must.Get(a.Update(t.Context(), "t", func(s *trail) { s.Go = "right" }))(t)
	out := must.Get(a.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "right")
}

// TestInterruptBeforeEdgesInSubgraphs stops inside them, and not after a command
// that says itself where it leads.
func TestInterruptBeforeEdgesInSubgraphs(t *testing.T) {
	for name, build := range map[string]func(*graph.Graph[trail], *graph.Graph[trail]){
		"inline": func(g, in *graph.Graph[trail]) { g.Inline("sub", in) },
		"within": func(g, in *graph.Graph[trail]) {
			graph.Subgraph(g, "sub", in, &graph.SubOptions[trail, trail]{
				In: func(s *trail) trail { return *s }, Out: func(s *trail, r *trail) error { s.Nodes = append(s.Nodes, r.Nodes...); return nil },
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := graph.New[trail]("outer")
			build(g, picking(graph.NodeOptions{InterruptBeforeEdges: true}))
			g.Edge(graph.Start, "sub")
			g.Edge("sub", graph.End)
			a := compile(t, g, newLedger(t), nil)
			if out := must.Get(a.Run(t.Context(), "t", trail{}))(t); out.Status != posthouse.StatusInterrupted {
				t.Fatalf("output %+v", out)
			}
			out := must.Get(a.Resume(t.Context(), "t"))(t)
			wantList(t, "nodes", out.State.Nodes, "pick", "left")
		})
	}
	g := graph.New[trail]("command")
	g.Command("pick", func(_ context.Context, s *trail) (graph.Command, error) { return graph.Goto("left"), nil })
	g.Node("left", visit("left"))
	g.Edge(graph.Start, "pick")
	g.Edge("left", graph.End)
	a := compile(t, g, newLedger(t), &graph.CompileOptions{InterruptBeforeEdges: []string{"pick"}})
	stoppedAt(t, must.Get(a.Run(t.Context(), "t", trail{}))(t), "left")
	if _, err := picking().Compile(newLedger(t), &graph.CompileOptions{InterruptBeforeEdges: []string{"pink"}}); err == nil {
		t.Error("a node that is not there was taken")
	}
}
