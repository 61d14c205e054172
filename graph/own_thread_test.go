package graph_test

import (
	"context"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/store/memstore"
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

// A fork of a caller that waits for the thread of its subgraph waits for its
// own, and is told when that goes on.
func TestForkWaitsForItsOwnThread(t *testing.T) {
	l := newLedger(t)
	sub := graph.New[innerState]("sub")
	sub.Node("ask", func(ctx context.Context, s *innerState) error {
		_, err := ask(ctx, "q")
		s.Notes = append(s.Notes, "asked")
		return err
	})
	sub.Edge(graph.Start, "ask")
	sub.Edge("ask", graph.End)
	g := graph.New[outerState]("outer")
	graph.Subgraph(g, "sub", sub, &graph.SubOptions[outerState, innerState]{
		Out: func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil }, OwnThread: true,
	})
	g.Edge(graph.Start, "sub")
	g.Edge("sub", graph.End)
	app := compile(t, g, l, nil)
	first := must(app.Run(t.Context(), "t", outerState{}))(t)
	fork := must(app.Fork(t.Context(), first.Checkpoint, nil, graph.ForkOptions{Thread: "f"}))(t)
	must(app.Resume(t.Context(), "f"))(t) // finds that it waits for another's thread
	out := must(app.Resume(t.Context(), "f"))(t)
	if len(out.Waiting) != 1 || out.Waiting[0].Kind != posthouse.GateThread || out.Waiting[0].Text == first.Waiting[0].Text {
		t.Fatalf("fork %s waits for %+v", fork.ID, out.Waiting)
	}
	child := out.Waiting[0].Text
	for q := range l.Gates(t.Context(), posthouse.GateQuery{Thread: child}) {
		decide(t, l, q.ID, posthouse.Approve)
	}
	for _, p := range app.Programs()[1:] {
		if err := p.Advance(t.Context(), child, posthouse.MainBranch); err != nil {
			t.Fatal(err)
		}
	}
	if info := must(l.Thread(t.Context(), "f"))(t); !info.Runnable() {
		t.Fatalf("nobody told the fork: %s", info.Status)
	}
	out = must(app.Resume(t.Context(), "f"))(t)
	wantList(t, "the fork", out.State.Log, "asked")
	if info := must(l.Thread(t.Context(), "t"))(t); info.Status != posthouse.StatusWaiting {
		t.Fatalf("the original is %s", info.Status)
	}
}

// Calls whose results the caller lost are made again, and get what they got,
// though the thread of their subgraph has gone on.
func TestCallsThatAreMadeAgain(t *testing.T) {
	store := memstore.New()
	lost := &mortal{Store: store}
	begin := func(store posthouse.Store, dies bool) *graph.App[outerState] {
		sub := graph.New[innerState]("sub")
		sub.Node("note", func(_ context.Context, s *innerState) error { s.Notes = append(s.Notes, s.Topic); return nil })
		sub.Edge(graph.Start, "note")
		sub.Edge("note", graph.End)
		g := graph.New[outerState]("outer")
		graph.Subgraph(g, "sub", sub, &graph.SubOptions[outerState, innerState]{
			In: func(s *outerState) innerState { return innerState{Topic: strings.Repeat("x", len(s.Log)+1)} },
			Out: func(s *outerState, in *innerState) error {
				s.Log = append(s.Log, strings.Join(in.Notes, ","))
				return nil
			},
			OwnThread: true, Lifetime: graph.PerThread,
		})
		g.Node("last", func(context.Context, *outerState) error { lost.dead.Store(dies); return nil })
		g.Edge(graph.Start, "sub")
		g.Route("sub", func(s *outerState) string {
			if len(s.Log) < 3 {
				return "sub"
			}
			return "last"
		})
		g.Edge("last", graph.End)
		return compile(t, g, open(t, store, &posthouse.Options{Owner: "p"}), nil)
	}
	if _, err := begin(lost, true).Run(t.Context(), "t", outerState{}, graph.RunOptions{Durability: graph.Exit}); err == nil {
		t.Fatal("it outlived its store")
	}
	out := must(begin(store, false).Resume(t.Context(), "t"))(t)
	wantList(t, "calls", out.State.Log, "x", "x,xx", "x,xx,xxx")
}
