package graph_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
)

func TestInterruptBefore(t *testing.T) {
	a := compile(t, line("a", "b", "c"), newLedger(t), &graph.CompileOptions{InterruptBefore: []string{"a", "c"}})
	out := must(a.Run(t.Context(), "t", trail{}))(t)
	if out.Status != posthouse.StatusInterrupted || len(out.State.Nodes) != 0 {
		t.Fatalf("result %+v", out)
	}
	wantList(t, "next", out.Next, "a")
	out = must(a.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "b")
	wantList(t, "next", out.Next, "c")
	out = must(a.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "b", "c")
	if out.Status != posthouse.StatusDone || len(history(t, a, "t")) != 4 {
		t.Fatalf("status %q, %d checkpoints: an interrupt makes none of its own", out.Status, len(history(t, a, "t")))
	}
}

func TestInterruptAfter(t *testing.T) {
	a := compile(t, line("a", "b"), newLedger(t), &graph.CompileOptions{InterruptAfter: []string{"a", "b"}})
	out := must(a.Run(t.Context(), "t", trail{}))(t)
	if out.Status != posthouse.StatusInterrupted {
		t.Fatalf("result %+v", out)
	}
	wantList(t, "nodes", out.State.Nodes, "a")
	if out = must(a.Resume(t.Context(), "t"))(t); out.Status != posthouse.StatusDone {
		t.Fatalf("after the last node the run is done: %+v", out)
	}
}

func TestInterruptEverywhere(t *testing.T) {
	for _, o := range []*graph.CompileOptions{{InterruptBefore: []string{"*"}}, {InterruptAfter: []string{"*"}}} {
		a := compile(t, line("a", "b", "c"), newLedger(t), o)
		out := must(a.Run(t.Context(), "t", trail{}))(t)
		stops := 0
		for ; out.Status == posthouse.StatusInterrupted; stops++ {
			out = must(a.Resume(t.Context(), "t"))(t)
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
		out := must(a.Run(t.Context(), "t", trail{}))(t)
		for n := len(out.State.Nodes); n < 3; n++ {
			if out.Status != posthouse.StatusInterrupted || len(out.State.Nodes) != n {
				t.Fatalf("%+v: %+v", o, out)
			}
			out = must(a.Resume(t.Context(), "t"))(t)
		}
		if out.Status != posthouse.StatusDone {
			t.Fatalf("%+v: %+v", o, out)
		}
	}
}
