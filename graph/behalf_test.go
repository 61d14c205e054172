package graph_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
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
	wantList(t, "principals", seen, "alice", "alice")
}

// An input to another branch does not change a run's requester, nor does a fork
// lose it; a new input without a sender has no requester.
func TestRequesterIsTheBranchs(t *testing.T) {
	l := newLedger(t)
	var seen []string
	g := graph.New[trail]("g")
	g.Node("a", func(context.Context, *trail) error { return nil }, graph.NodeOptions{InterruptAfter: true})
	g.Node("b", func(ctx context.Context, _ *trail) error { seen = append(seen, engine.Principal(ctx)); return nil })
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	app := compile(t, g, l, nil)
	head := must.Get(app.Run(t.Context(), "t", trail{}, graph.RunOptions{By: "alice"}))(t).Checkpoint
	must.Get(app.Fork(t.Context(), head, nil, graph.ForkOptions{Branch: "side"}))(t)
	must.Get(app.Fork(t.Context(), head, nil, graph.ForkOptions{Thread: "u"}))(t)
	must.Get(app.Run(t.Context(), "t", trail{}, graph.RunOptions{By: "mallory", Branch: "side"}))(t)
	must.Get(app.Resume(t.Context(), "t"))(t)
	must.Get(app.Resume(t.Context(), "t", graph.RunOptions{Branch: "side"}))(t)
	must.Get(app.Resume(t.Context(), "u"))(t)
	must.Get(app.Run(t.Context(), "u", trail{}))(t)
	must.Get(app.Resume(t.Context(), "u"))(t)
	wantList(t, "principals", seen, "alice", "mallory", "alice", "")
}

// A run that is sent again acts for whoever sent it first.
func TestARunSentAgainActsForTheFirst(t *testing.T) {
	for _, first := range []string{"alice", ""} {
		l := newLedger(t)
		var seen []string
		g := graph.New[trail]("g")
		g.Node("a", func(ctx context.Context, _ *trail) error {
			seen = append(seen, engine.Principal(ctx))
			_, err := ask(ctx, "q")
			return err
		})
		g.Edge(graph.Start, "a")
		g.Edge("a", graph.End)
		app := compile(t, g, l, nil)
		out := must.Get(app.Run(t.Context(), "t", trail{}, graph.RunOptions{Run: "r", By: first}))(t)
		decide(t, l, out.Waiting[0].ID, "reject")
		must.Get(app.Run(engine.WithPrincipal(t.Context(), "mallory"), "t", trail{}, graph.RunOptions{Run: "r", By: "mallory"}))(t)
		wantList(t, "principals", seen, first, first)
	}
}
