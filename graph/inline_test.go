package graph_test

import (
	"context"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
)

// An inlined graph runs as if its nodes had been added one by one: edges,
// routes, commands, sends and joins find their way, in and out, at any depth.
func TestInline(t *testing.T) {
	type state struct {
		Log  []string `posthouse:"append"`
		Path string
	}
	visit := func(name string) func(context.Context, *state) error {
		return func(_ context.Context, s *state) error { s.Log = append(s.Log, name); return nil }
	}
	deep := graph.New[state]("deep")
	deep.Command("choose", func(_ context.Context, s *state) (graph.Command, error) {
		switch s.Path {
		case "up":
			return graph.Command{Goto: []string{"after"}, Parent: true}, nil
		case "end":
			return graph.Stop(), nil
		}
		return graph.Command{Send: []graph.Send{{Node: "task", Input: "1"}, {Node: "task", Input: "2"}}}, nil
	}, graph.NodeOptions{Targets: []string{"task", graph.End}}) // of deep: an edge up does not count
	graph.Task(deep, "task", func(_ context.Context, in string, s *state) error { s.Log = []string{"task" + in}; return nil })
	deep.Edge(graph.Start, "choose")
	deep.Edge("task", graph.End)

	mid := graph.New[state]("mid")
	mid.Node("a", visit("a"))
	mid.Node("b", visit("b"))
	mid.Node("after", visit("after"))
	mid.Inline("deep", deep)
	mid.Route(graph.Start, func(*state) string { return "a" }, "a")
	mid.Edge("a", "b")
	mid.Route("b", func(*state) string { return "deep" }, "deep")
	mid.Routes("deep", func(*state) []string { return []string{"after"} }, "after")
	mid.Edge("after", graph.End)

	g := graph.New[state]("outer")
	g.Inline("mid", mid)
	g.Node("last", visit("last"))
	g.Edge(graph.Start, "mid")
	g.Edge("mid", "last")
	g.Edge("last", graph.End)
	app := compile(t, g, newLedger(t), nil)
	for path, want := range map[string]string{
		"":    "a b task1 task2 after last",
		"up":  "a b after last",
		"end": "a b after last",
	} {
		out, err := app.Run(t.Context(), "t"+path, state{Path: path})
		if err != nil || strings.Join(out.State.Log, " ") != want {
			t.Errorf("path %v, output %v, error %v", path, out, err)
		}
	}
	for s, err := range app.History(t.Context(), "t") {
		if err != nil {
			t.Fatal(err)
		}
		if s.Kind == posthouse.KindNode && strings.HasSuffix(s.Node, ".start") {
			t.Error("a checkpoint of", s.Node)
		}
	}
	for _, to := range []string{"mid", "mid.end", "mid.deep"} {
		if _, err := app.Update(t.Context(), "t", nil, graph.UpdateOptions{Goto: to}); err != nil {
			t.Error(to, err)
		}
	}
	stop := compile(t, g, newLedger(t), &graph.CompileOptions{InterruptBefore: []string{"mid.deep", "mid.b"}})
	out, err := stop.Run(t.Context(), "t", state{})
	for _, want := range []string{"mid.b", "mid.deep.start"} {
		if err != nil || out.Status != posthouse.StatusInterrupted || out.Next[0] != want {
			t.Fatalf("output %v, error %v", out, err)
		}
		out, err = stop.Resume(t.Context(), "t")
	}
	if err != nil || out.Status != posthouse.StatusDone {
		t.Fatalf("output %v, error %v", out, err)
	}
}
