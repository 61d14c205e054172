package graph_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// echoing calls a subgraph in a thread of its own, which notes its topic.
func echoing(t testing.TB, l *ledger.Ledger, life graph.Lifetime) *graph.App[outerState] {
	return compile(t, echoes("sub", life), l, nil)
}

func echoes(node string, life graph.Lifetime) *graph.Graph[outerState] {
	sub := graph.New[innerState]("sub")
	sub.Node("echo", func(_ context.Context, s *innerState) error { s.Notes = append(s.Notes, s.Topic); return nil })
	sub.Edge(graph.Start, "echo")
	sub.Edge("echo", graph.End)
	g := graph.New[outerState]("outer")
	graph.Subgraph(g, node, sub, &graph.SubOptions[outerState, innerState]{
		In:        func(s *outerState) innerState { return innerState{Topic: s.Topic} },
		Out:       func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil },
		OwnThread: true, Lifetime: life,
	})
	g.Edge(graph.Start, node)
	g.Edge(node, graph.End)
	return g
}

// A caller that was released or deleted starts over, and so do the threads it
// calls: it never gets an answer to an earlier thread of its name.
func TestOwnThreadOfARestartedCaller(t *testing.T) {
	for _, life := range []graph.Lifetime{graph.PerCall, graph.PerThread} {
		l := newLedger(t)
		app := echoing(t, l, life)
		for i, topic := range []string{"first", "second", "third"} {
			out := must.Get(app.Run(t.Context(), "t", outerState{Topic: topic}))(t)
			wantList(t, "log", out.State.Log, topic)
			if i == 0 {
				must.Get(app.Release(t.Context(), "t", nil))(t)
			} else {
				must.Get(retain.DeleteThread(t.Context(), l, "t", nil))(t)
			}
		}
	}
}

// Threads with similar names do not share called threads, and a name of the
// largest length leaves room for the thread of a call.
func TestNamesOfOwnThreads(t *testing.T) {
	l := newLedger(t)
	app := echoing(t, l, graph.PerCall)
	must.Get(app.Run(t.Context(), "t", outerState{Topic: "main"}))(t)
	side := must.Get(app.Fork(t.Context(), history(t, app, "t")[1].ID, func(s *outerState) { s.Topic = "side" }, graph.ForkOptions{Branch: "b"}))(t)
	out := must.Get(app.Resume(t.Context(), "t", graph.RunOptions{Branch: side.Branch}))(t)
	wantList(t, "the branch", out.State.Log, "side")
	out = must.Get(app.Run(t.Context(), "t:b", outerState{Topic: "other"}))(t)
	wantList(t, "the thread", out.State.Log, "other")
	out = must.Get(app.Run(t.Context(), strings.Repeat("x", posthouse.MaxID), outerState{Topic: "long"}))(t)
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
	first := must.Get(app.Run(t.Context(), "t", outerState{}))(t)
	fork := must.Get(app.Fork(t.Context(), first.Checkpoint, nil, graph.ForkOptions{Thread: "f"}))(t)
	must.Get(app.Resume(t.Context(), "f"))(t) // finds that it waits for another's thread
	out := must.Get(app.Resume(t.Context(), "f"))(t)
	if len(out.Waiting) != 1 || out.Waiting[0].Kind != posthouse.GateThread || out.Waiting[0].Text == first.Waiting[0].Text {
		t.Fatalf("fork %s waits for %+v", fork.ID, out.Waiting)
	}
	child := out.Waiting[0].Text
	for q := range l.Gates(t.Context(), ledger.GateQuery{Thread: child}) {
		decide(t, l, q.ID, posthouse.Approve)
	}
	for _, p := range app.Programs()[1:] {
		if err := p.Advance(t.Context(), child, posthouse.MainBranch); err != nil {
			t.Fatal(err)
		}
	}
	if info := must.Get(l.Thread(t.Context(), "f"))(t); !info.Runnable() {
		t.Fatalf("nobody told the fork: %s", info.Status)
	}
	out = must.Get(app.Resume(t.Context(), "f"))(t)
	wantList(t, "the fork", out.State.Log, "asked")
	if info := must.Get(l.Thread(t.Context(), "t"))(t); info.Status != posthouse.StatusWaiting {
		t.Fatalf("the original is %s", info.Status)
	}
}

// A call is made again if the caller lost its result, and gets the same result,
// though the thread of its subgraph has gone on.
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
		return compile(t, g, open(t, store, &ledger.Options{Owner: "p"}), nil)
	}
	if _, err := begin(lost, true).Run(t.Context(), "t", outerState{}, graph.RunOptions{Durability: graph.Exit}); err == nil {
		t.Fatal("it outlived its store")
	}
	out := must.Get(begin(store, false).Resume(t.Context(), "t"))(t)
	wantList(t, "calls", out.State.Log, "x", "x,xx", "x,xx,xxx")
}

// owning calls subgraphs, each in a thread of its own and beside each other.
func owning(t testing.TB, l *ledger.Ledger, subs map[string]*graph.Graph[innerState]) *graph.App[outerState] {
	g := graph.New[outerState]("owner")
	for name, sub := range subs {
		graph.Subgraph(g, name, sub, &graph.SubOptions[outerState, innerState]{OwnThread: true})
		g.Edge(graph.Start, name)
		g.Edge(name, graph.End)
	}
	return compile(t, g, l, nil)
}

func oneInner(name string, run func(context.Context, *innerState) error) *graph.Graph[innerState] {
	g := graph.New[innerState](name)
	g.Node(name, run)
	g.Edge(graph.Start, name)
	g.Edge(name, graph.End)
	return g
}

// TestOwnThreadsAreStreamed: with Subgraphs the caller's stream tells what
// happens in them, at any depth; its last event stays its own.
func TestOwnThreadsAreStreamed(t *testing.T) {
	deepest := oneInner("say", func(ctx context.Context, s *innerState) error {
		step.Token(ctx, "hello")
		s.Notes = append(s.Notes, "said")
		return nil
	})
	middle := graph.New[innerState]("middle")
	graph.Subgraph(middle, "deep", deepest, &graph.SubOptions[innerState, innerState]{
		OwnThread: true, Out: func(s *innerState, in *innerState) error { s.Notes = append(s.Notes, in.Notes...); return nil },
	})
	graph.Subgraph(middle, "near", oneInner("quiet", visitInner("quiet")), &graph.SubOptions[innerState, innerState]{})
	middle.Edge(graph.Start, "deep")
	middle.Edge("deep", "near")
	middle.Edge("near", graph.End)
	for _, inside := range []bool{true, false} {
		l := newLedger(t)
		app := owning(t, l, map[string]*graph.Graph[innerState]{"sub": middle})
		o := graph.RunOptions{Subgraphs: inside, Modes: []runs.StreamMode{runs.StreamValues, runs.StreamMessages, runs.StreamCheckpoints}}
		var told []string
		results := 0
		for e, err := range app.Stream(t.Context(), "t", outerState{}, o) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Result != nil {
				results++
			}
			switch {
			case e.Kind == runs.EventMessage:
				told = append(told, "message "+e.Path+" "+e.Node+" "+e.Text)
			case e.Kind == runs.EventCheckpoint && e.Path != "":
				if e.Checkpoint.Thread == "t" {
					t.Errorf("a checkpoint of %s in the caller's thread", e.Path)
				}
			case e.Kind == runs.EventNode && e.Path != "":
				told = append(told, fmt.Sprint("node ", e.Path, " ", e.Node, " ", e.Inner.(innerState).Notes))
			}
		}
		want := []string{
			"message sub/deep say hello", "node sub/deep say [said]", "node sub deep [said]", "node sub/near quiet [quiet]", "node sub near [said]",
		}
		if !inside {
			want = []string{"message  sub hello"}
		}
		wantList(t, "told", told, want...)
		if results != 1 {
			t.Errorf("%d results", results)
		}
	}
}

// children returns the states of all threads but the caller's.
func children(t *testing.T, l *ledger.Ledger) (all []string) {
	t.Helper()
	for info, err := range l.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if info.Thread != "t" {
			all = append(all, strings.Split(info.Thread, ".")[1]+" "+string(info.Status))
		}
	}
	slices.Sort(all)
	return all
}

// TestLeavingCancelsOwnThreads: leading a thread elsewhere leaves no open
// question in the threads that it called; an update that stays there keeps them.
func TestLeavingCancelsOwnThreads(t *testing.T) {
	asks := oneInner("asks", func(ctx context.Context, s *innerState) error { _, err := ask(ctx, "ok"); return err })
	for name, want := range map[string][]string{
		"input":   {"asks cancelled", "asks waiting"},
		"goto":    {"asks cancelled", "asks waiting"},
		"update":  {"asks waiting"},
		"release": {"asks cancelled"},
	} {
		l := newLedger(t)
		app := owning(t, l, map[string]*graph.Graph[innerState]{"asks": asks})
		must.Get(app.Run(t.Context(), "t", outerState{}))(t)
		switch name {
		case "input":
			must.Get(app.Run(t.Context(), "t", outerState{}, graph.RunOptions{Withdraw: true}))(t)
		case "goto":
			must.Get(app.Update(t.Context(), "t", nil, graph.UpdateOptions{Goto: "asks"}))(t)
			must.Get(app.Resume(t.Context(), "t"))(t)
		case "update":
			must.Get(app.Update(t.Context(), "t", nil))(t)
			must.Get(app.Resume(t.Context(), "t"))(t)
		case "release":
			must.Get(app.Release(t.Context(), "t", nil))(t)
		}
		wantList(t, name, children(t, l), want...)
		open := 0
		for g, err := range l.Gates(t.Context(), ledger.GateQuery{}) {
			if open++; err != nil || !slices.Contains(want, "asks waiting") {
				t.Errorf("%s: still open: %+v, %v", name, g, err)
			}
		}
		if open > 1 {
			t.Errorf("%s: %d open questions", name, open)
		}
	}
}

// TestCancelReachesOwnThreads that run, that wait beside one that runs, and
// that wait as their caller does, also after a restart.
func TestCancelReachesOwnThreads(t *testing.T) {
	asks := oneInner("asks", func(ctx context.Context, s *innerState) error { _, err := ask(ctx, "ok"); return err })
	above := graph.New[innerState]("above")
	graph.Subgraph(above, "below", asks, &graph.SubOptions[innerState, innerState]{OwnThread: true})
	above.Edge(graph.Start, "below")
	above.Edge("below", graph.End)

	t.Run("waiting", func(t *testing.T) {
		store := memstore.New()
		app := owning(t, open(t, store, nil), map[string]*graph.Graph[innerState]{"asks": asks, "above": above})
		out := must.Get(app.Run(t.Context(), "t", outerState{}))(t)
		if out.Status != posthouse.StatusWaiting {
			t.Fatalf("output %+v", out)
		}
		l := open(t, store, nil)
		must.Get(l.Cancel(t.Context(), "t", nil))(t)
		wantList(t, "children", children(t, l), "above cancelled", "above cancelled", "asks cancelled")
		for g, err := range l.Gates(t.Context(), ledger.GateQuery{All: true}) {
			t.Errorf("still open: %+v, %v", g, err)
		}
	})
	t.Run("running", func(t *testing.T) {
		l := newLedger(t)
		waits, visited := make(chan struct{}), make(chan struct{})
		app := owning(t, l, map[string]*graph.Graph[innerState]{
			"asks": oneInner("asks", func(ctx context.Context, s *innerState) error {
				defer close(waits)
				_, err := ask(ctx, "ok")
				return err
			}),
			"runs": oneInner("runs", func(ctx context.Context, s *innerState) error {
				<-waits
				<-visited
				if _, err := l.Cancel(ctx, "t", nil); err != nil {
					return err
				}
				<-ctx.Done()
				return context.Cause(ctx)
			}),
			"done": oneInner("done", func(context.Context, *innerState) error { close(visited); return nil }),
		})
		out := must.Get(app.Run(t.Context(), "t", outerState{}))(t)
		if out.Status != posthouse.StatusCancelled {
			t.Fatalf("output %+v", out)
		}
		got := children(t, l)
		if done := slices.Contains(got, "done done") || slices.Contains(got, "done cancelled"); !done || len(got) != 3 || got[0] != "asks cancelled" || got[2] != "runs cancelled" {
			t.Errorf("children %q", got)
		}
	})
	t.Run("lost", func(t *testing.T) {
		store := memstore.New()
		first := &mortal{Store: store}
		var ran atomic.Int32
		sub := oneInner("runs", func(context.Context, *innerState) error { ran.Add(1); first.dead.Store(true); return nil })
		dead := owning(t, open(t, first, &ledger.Options{Owner: "p"}), map[string]*graph.Graph[innerState]{"runs": sub})
		if _, err := dead.Run(t.Context(), "t", outerState{}); err == nil {
			t.Fatal("it outlived its store")
		}
		l := open(t, store, &ledger.Options{Owner: "p"})
		app := owning(t, l, map[string]*graph.Graph[innerState]{"runs": sub})
		must.Get(l.Cancel(t.Context(), "t", nil))(t)
		for info, err := range l.Threads(t.Context(), posthouse.ThreadQuery{Runnable: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if err := app.Programs()[1].Advance(t.Context(), info.Thread, posthouse.MainBranch); err != nil {
				t.Error(err)
			}
		}
		wantList(t, "children", children(t, l), "runs cancelled")
		if ran.Load() != 1 {
			t.Errorf("it ran %d times", ran.Load())
		}
	})
}
