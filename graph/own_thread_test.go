package graph_test

import (
	"context"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
)

// echoing calls a subgraph in a thread of its own, which notes its topic.
func echoing(t testing.TB, l *posthouse.Ledger, life graph.Lifetime) *graph.App[outerState] {
	sub := graph.New[innerState]("sub")
	sub.Node("echo", func(_ context.Context, s *innerState) error { s.Notes = append(s.Notes, s.Topic); return nil })
	sub.Edge(graph.Start, "echo")
	sub.Edge("echo", graph.End)
	g := graph.New[outerState]("outer")
	graph.Subgraph(g, "sub", sub, &graph.SubOptions[outerState, innerState]{
		In:        func(s *outerState) innerState { return innerState{Topic: s.Topic} },
		Out:       func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil },
		OwnThread: true, Lifetime: life,
	})
	g.Edge(graph.Start, "sub")
	g.Edge("sub", graph.End)
	return compile(t, g, l, nil)
}

// A caller that was released or deleted begins anew, and so does what it calls:
// it never gets what an earlier thread of its name was told.
func TestOwnThreadOfACallerThatBeginsAnew(t *testing.T) {
	for _, life := range []graph.Lifetime{graph.PerCall, graph.PerThread} {
		l := newLedger(t)
		app := echoing(t, l, life)
		for i, topic := range []string{"first", "second", "third"} {
			out := must(app.Run(t.Context(), "t", outerState{Topic: topic}))(t)
			wantList(t, "log", out.State.Log, topic)
			if i == 0 {
				must(app.Release(t.Context(), "t", nil))(t)
			} else {
				must(l.DeleteThread(t.Context(), "t", nil))(t)
			}
		}
	}
}

// Threads whose names read alike do not share what they call, and a name that
// is as long as can be leaves room for the thread of a call.
func TestNamesOfOwnThreads(t *testing.T) {
	l := newLedger(t)
	app := echoing(t, l, graph.PerCall)
	must(app.Run(t.Context(), "t", outerState{Topic: "main"}))(t)
	side := must(app.Fork(t.Context(), history(t, app, "t")[1].ID, func(s *outerState) { s.Topic = "side" }, graph.ForkOptions{Branch: "b"}))(t)
	out := must(app.Resume(t.Context(), "t", graph.RunOptions{Branch: side.Branch}))(t)
	wantList(t, "the branch", out.State.Log, "side")
	out = must(app.Run(t.Context(), "t:b", outerState{Topic: "other"}))(t)
	wantList(t, "the thread", out.State.Log, "other")
	out = must(app.Run(t.Context(), strings.Repeat("x", posthouse.MaxID), outerState{Topic: "long"}))(t)
	wantList(t, "the long name", out.State.Log, "long")
}
