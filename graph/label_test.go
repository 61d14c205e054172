package graph_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// A run's labels find its input; a node's effect finds what may have acted.
func TestLabels(t *testing.T) {
	l := newLedger(t)
	g := graph.New[trail]("g")
	nothing := func(context.Context, *trail) error { return nil }
	g.Node("read", nothing, graph.NodeOptions{Effect: posthouse.EffectRead})
	g.Node("think", nothing, graph.NodeOptions{Effect: posthouse.EffectPure})
	g.Node("pay", nothing, graph.NodeOptions{Effect: posthouse.EffectExternal})
	g.Node("end", nothing)
	g.Edge(graph.Start, "read")
	g.Edge(graph.Start, "think")
	g.Join("pay", "read", "think")
	g.Edge("pay", "end")
	g.Edge("end", graph.End)
	app := compile(t, g, l, nil)
	must.Get(app.Run(t.Context(), "t", trail{}, graph.RunOptions{Labels: map[string]string{"order": "1234"}}))(t)
	find := func(label, value string) (nodes []string) {
		for h, err := range l.List(t.Context(), posthouse.Query{Thread: "t", Label: label, LabelValue: value}) {
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, h.Kind+" "+h.Node)
		}
		return nodes
	}
	wantList(t, "order", find("order", "1234"), "input ")
	wantList(t, "external", find("effect", "external"), "node pay")
	wantList(t, "pure+read", find("effect", "pure+read"), "node read+think")
	wantList(t, "unset", find("effect", ""))

	for _, o := range []graph.RunOptions{
		{Labels: map[string]string{"parent": "t"}}, {Labels: map[string]string{"effect": "pure"}}, {Labels: map[string]string{"": "x"}},
	} {
		_, err := app.Run(t.Context(), "u", trail{}, o)
		must.Fail(t, err, posthouse.ErrInvalid)
	}
	_, err := app.Resume(t.Context(), "t", graph.RunOptions{Labels: map[string]string{"a": "b"}})
	must.Fail(t, err, posthouse.ErrInvalid)
	wrong := graph.New[trail]("wrong")
	wrong.Node("a", nothing, graph.NodeOptions{Effect: 99})
	wrong.Edge(graph.Start, "a")
	wrong.Edge("a", graph.End)
	if _, err := wrong.Compile(l, nil); err == nil {
		t.Error("an unknown effect compiles")
	}
}
