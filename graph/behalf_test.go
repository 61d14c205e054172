package graph_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
)

// A run acts on behalf of whoever sent its input, also when it is resumed by
// somebody who does not say so.
func TestRunActsForItsRequester(t *testing.T) {
	l := newLedger(t)
	var seen []string
	g := graph.New[trail]("g")
	g.Node("a", func(ctx context.Context, _ *trail) error { seen = append(seen, engine.Principal(ctx)); return nil },
		graph.NodeOptions{InterruptAfter: true})
	g.Node("b", func(ctx context.Context, _ *trail) error { seen = append(seen, engine.Principal(ctx)); return nil })
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	app := compile(t, g, l, nil)
	if _, err := app.Run(t.Context(), "t", trail{}, graph.RunOptions{By: "alice"}); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Resume(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || seen[0] != "alice" || seen[1] != "alice" {
		t.Fatal(seen)
	}
}
