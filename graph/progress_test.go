package graph_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/graph/draw"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// gallery is a graph with everything a picture can show.
func gallery() *graph.Graph[trail] {
	sub := graph.New[trail]("inner")
	for _, n := range []string{"plan", "search", "write"} {
		sub.Node(n, visit(n), graph.NodeOptions{InterruptBefore: n == "write"})
	}
	sub.Edge(graph.Start, "plan")
	sub.Edge("plan", "search")
	sub.Route("search", func(*trail) string { return "write" }, "plan", "write")
	sub.Edge("write", graph.End)
	g := graph.New[trail]("gallery")
	g.Node("in", visit("in"))
	g.Command("decide", func(context.Context, *trail) (graph.Command, error) { return graph.Goto("left", "research"), nil },
		graph.NodeOptions{Targets: []string{"left", "right", "research"}})
	g.Node("left", visit("left"))
	g.Node("right", visit("right"))
	graph.Subgraph(g, "research", sub, nil)
	graph.Task(g, "fetch", func(_ context.Context, in string, s *trail) error { return nil })
	g.Node("report", visit("report"), graph.NodeOptions{Defer: true})
	g.Edge(graph.Start, "in")
	g.Edge("in", "decide")
	g.Map("left", func(*trail) []graph.Send { return nil }, "fetch")
	g.Edge("fetch", "report")
	g.Edge("right", "right2")
	g.Node("right2", visit("right2"))
	g.Route("right2", func(*trail) string { return "right2" }, "right2", "in")
	g.Edge("research", "report")
	g.Edge("report", graph.End)
	return g
}

// picture draws a thread into its graph.
func picture[S any](t testing.TB, a *graph.App[S], o graph.ProgressOptions) string {
	t.Helper()
	return draw.Mermaid(a.Shape(), must.Get(a.Progress(t.Context(), o))(t), nil)
}

func TestPictures(t *testing.T) {
	l := newLedger(t)
	a := compile(t, gallery(), l, nil)
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	in := must.Get(a.Progress(t.Context(), graph.ProgressOptions{Thread: "t"}))(t)
	if same := must.Get(a.Progress(t.Context(), graph.ProgressOptions{Checkpoint: out.Checkpoint}))(t); !maps.Equal(same, in) {
		t.Errorf("the head is %v by its id, and %v as the head", same, in)
	}
	for _, o := range []graph.ProgressOptions{{Thread: "nobody"}, {Checkpoint: "nothing"}} {
		_, err := a.Progress(t.Context(), o)
		must.Fail(t, err, posthouse.ErrNotFound)
	}
	for name, text := range map[string]func(*graph.Shape, graph.Progress, *draw.Options) string{"mmd": draw.Mermaid, "dot": draw.DOT} {
		plain := text(a.Shape(), nil, nil)
		if again := text(compile(t, gallery(), l, nil).Shape(), nil, nil); again != plain {
			t.Errorf("%s: two pictures of one graph differ", name)
		}
		if text(a.Shape(), in, nil) == plain {
			t.Errorf("%s: the thread is not drawn in", name)
		}
	}
	m := draw.Mermaid(a.Shape(), in, &draw.Options{LeftRight: true})
	for _, want := range []string{
		"flowchart LR\n", `subgraph n5["research"]`, "-.->|map|", "-.->|route|", "-.->|command|", "class n1,n2,n3,n7,n8 done", "class n5,n9 next",
	} {
		if !strings.Contains(m, want) {
			t.Errorf("no %q in\n%s", want, m)
		}
	}
}

// A thread that waits and one that failed show where.
func TestPictureOfAThread(t *testing.T) {
	l := newLedger(t)
	broken, calls := true, map[string]int{}
	a := compile(t, oldShop(&broken, calls), l, nil)
	if _, err := a.Run(t.Context(), "t", oldOrder{}); err == nil {
		t.Fatal("did not fail")
	}
	m := picture(t, a, graph.ProgressOptions{Thread: "t"})
	if !strings.Contains(m, "class n1 failed") || !strings.Contains(m, "|join|") || !strings.Contains(m, "deferred") {
		t.Error(m)
	}
	n := 0
	w := compile(t, approval(&n), l, nil)
	must.Get(w.Run(t.Context(), "w", trail{}))(t)
	m = picture(t, w, graph.ProgressOptions{Thread: "w"})
	if !strings.Contains(m, "class n1 done") || !strings.Contains(m, "class n2 waiting") {
		t.Error(m)
	}
	_, err := a.Progress(t.Context(), graph.ProgressOptions{Thread: "w"})
	must.Fail(t, err, posthouse.ErrInvalid)
}

// In the middle of a step, what completed is done, and what has its answer is
// next, also within a subgraph.
func TestPictureOfAStep(t *testing.T) {
	l := newLedger(t)
	asks := func(ctx context.Context, _ *trail) error {
		_, err := gate.Ask[any](ctx, gate.Question{Name: "q"})
		return err
	}
	sub := graph.New[trail]("sub")
	sub.Node("x", asks)
	sub.Node("y", asks)
	sub.Node("z", visit("z"))
	g := graph.New[trail]("g")
	g.Node("a", asks)
	graph.Subgraph(g, "sub", sub, nil)
	g.Node("b", visit("b"))
	broken := true
	g.Node("c", func(context.Context, *trail) error {
		if broken {
			return errBoom
		}
		return nil
	})
	for _, n := range []string{"x", "y", "z"} {
		sub.Edge(graph.Start, n)
		sub.Edge(n, graph.End)
	}
	for _, n := range []string{"a", "sub", "b", "c"} {
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	app := compile(t, g, l, nil)
	shows := func(marks ...string) {
		t.Helper()
		text := picture(t, app, graph.ProgressOptions{Thread: "t"})
		var have []string
		for line := range strings.Lines(text) {
			if names, ok := strings.CutPrefix(strings.TrimSpace(line), "class "); ok {
				have = append(have, names)
			}
		}
		wantList(t, "marks", have, marks...)
	}
	_, err := app.Run(t.Context(), "t", trail{})
	must.Fail(t, err, errBoom)
	first := must.Get(app.State(t.Context(), "t"))(t).ID
	shows("n6,n8 done", "n1,n2,n4,n5 next", "n9 failed")
	broken = false
	out := must.Get(app.Resume(t.Context(), "t"))(t)
	shows("n6,n8,n9 done", "n1,n2,n4,n5 waiting")
	slices.SortFunc(out.Waiting, func(a, b posthouse.Gate) int { return strings.Compare(a.Task, b.Task) }) // they are asked in parallel
	for i, marks := range [][]string{
		{"n6,n8,n9 done", "n1 next", "n2,n4,n5 waiting"},
		{"n6,n8,n9 done", "n1,n4 next", "n2,n5 waiting"},
		{"n6,n8,n9 done", "n1,n2,n4,n5 next"},
	} {
		must.Get(l.Decide(t.Context(), out.Waiting[i].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}))(t)
		shows(marks...)
	}
	past := picture(t, app, graph.ProgressOptions{Checkpoint: first})
	if !strings.Contains(past, "class n9 failed") || !strings.Contains(past, "class n1,n2,n4,n5,n6,n8 next") {
		t.Error(past)
	}
	must.Get(app.Resume(t.Context(), "t"))(t)
	shows("n1,n2,n8,n9 done")
}

func TestShape(t *testing.T) {
	a := compile(t, gallery(), newLedger(t), nil)
	s := a.Shape()
	if s.Name != "gallery" || s.Fingerprint != a.Fingerprint() || len(s.Nodes) != 8 || s.Nodes[4].Sub == nil || s.Nodes[5].Input != "string" {
		t.Errorf("%+v", s)
	}
	if s.Parts[0] != (graph.PartShape{Name: "Nodes", Field: "Nodes", Type: "[]string", Merge: "append"}) {
		t.Errorf("s.Parts %+v", s.Parts)
	}
}
