package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// deepAsking is a graph with a subgraph "sub" that calls "deep", which notes its
// topic and asks; each may have a thread of its own.
func deepAsking(t testing.TB, l *ledger.Ledger, own [2]bool, life graph.Lifetime) *graph.App[outerState] {
	deep := graph.New[innerState]("deepest")
	deep.Node("note", func(_ context.Context, s *innerState) error {
		s.Calls++
		s.Notes = append(s.Notes, s.Topic)
		return nil
	})
	deep.Node("ask", func(ctx context.Context, s *innerState) error { _, err := ask(ctx, "q"); return err })
	deep.Edge(graph.Start, "note")
	deep.Edge("note", "ask")
	deep.Edge("ask", graph.End)
	mid := graph.New[innerState]("middle")
	graph.Subgraph(mid, "deep", deep, &graph.SubOptions[innerState, innerState]{
		In:        func(s *innerState) innerState { return innerState{Topic: s.Topic} },
		Out:       func(s, in *innerState) error { s.Notes = in.Notes; return nil },
		OwnThread: own[1], Lifetime: life,
	})
	mid.Edge(graph.Start, "deep")
	mid.Edge("deep", graph.End)
	g := graph.New[outerState]("outer")
	graph.Subgraph(g, "sub", mid, &graph.SubOptions[outerState, innerState]{
		In: func(s *outerState) innerState { return innerState{Topic: s.Topic} },
		Out: func(s *outerState, in *innerState) error {
			s.Log = append(s.Log, strings.Join(in.Notes, ","))
			return nil
		},
		OwnThread: own[0],
	})
	g.Edge(graph.Start, "sub")
	g.Edge("sub", graph.End)
	return compile(t, g, l, nil)
}

// answerAll decides every question there is.
func answerAll(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	for g, err := range l.Gates(t.Context(), ledger.GateQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		decide(t, l, g.ID, posthouse.Approve)
	}
}

// TestWithinReadsWithTheCodecOfTheGraph: a subgraph's state is read as the graph around stored it.
func TestWithinReadsWithTheCodecOfTheGraph(t *testing.T) {
	l, codec := newLedger(t), otherCodec{posthouse.JSON}
	sub := graph.New[innerState]("inner")
	sub.Node("ask", func(ctx context.Context, s *innerState) error { _, err := ask(ctx, s.Topic); return err })
	sub.Edge(graph.Start, "ask")
	sub.Edge("ask", graph.End)
	g := graph.New[outerState]("outer")
	graph.Subgraph(g, "sub", sub, &graph.SubOptions[outerState, innerState]{
		In: func(s *outerState) innerState { return innerState{Topic: s.Topic} }, Out: func(*outerState, *innerState) error { return nil },
	})
	g.Edge(graph.Start, "sub")
	g.Edge("sub", graph.End)
	out := must.Get(compile(t, g, l, &graph.CompileOptions{Codec: codec}).Run(t.Context(), "t", outerState{Topic: "tea"}))(t)
	if s := must.Get(graph.Within[innerState](t.Context(), l, out.Checkpoint, "sub", graph.WithinOptions{Codec: codec}))(t); s.Topic != "tea" {
		t.Errorf("state %+v", s)
	}
	if s, err := graph.Within[innerState](t.Context(), l, out.Checkpoint, "sub"); err == nil {
		t.Errorf("another codec reads it: %+v", s)
	}
}

// A path leads through threads of their own as through the caller's: it is read,
// updated and named at any depth, and what was updated is what comes of it.
func TestWithinOwnThreads(t *testing.T) {
	for _, own := range [][2]bool{{true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprint(own), func(t *testing.T) {
			ctx, l := t.Context(), newLedger(t)
			app := deepAsking(t, l, own, graph.PerThread)
			out := must.Get(app.Run(ctx, "t", outerState{Topic: "tea"}))(t)
			s := must.Get(graph.Within[innerState](ctx, l, out.Checkpoint, "sub/deep"))(t)
			wantList(t, "notes", s.Notes, "tea")
			if sub := must.Get(graph.Within[innerState](ctx, l, out.Checkpoint, "sub"))(t); sub.Topic != "tea" || len(sub.Notes) != 0 {
				t.Errorf("sub %+v", sub)
			}
			at := must.Get(graph.ThreadWithin(ctx, l, out.Checkpoint, "sub/deep"))(t)
			if up := must.Get(graph.ThreadWithin(ctx, l, out.Checkpoint, "sub"))(t); (up != "t") != own[0] || (at != up) != own[1] {
				t.Errorf("threads %q and %q", up, at)
			}
			_, err := graph.Within[innerState](ctx, l, out.Checkpoint, "sub/other")
			must.Fail(t, err, posthouse.ErrNotFound)
			_, err = graph.ThreadWithin(ctx, l, out.Checkpoint, "other")
			must.Fail(t, err, posthouse.ErrNotFound)

			fork := must.Get(app.Fork(ctx, out.Checkpoint, nil))(t)
			h := must.Get(graph.UpdateWithin(ctx, l, out.Checkpoint, "sub/deep", func(s *innerState) { s.Notes = []string{"mine"} }, graph.WithinOptions{By: "eve"}))(t)
			if h.Thread != at || h.By != "eve" || h.Kind != posthouse.KindUpdate {
				t.Errorf("update %+v", h)
			}
			out = must.Get(app.Resume(ctx, "t"))(t)
			s = must.Get(graph.Within[innerState](ctx, l, out.Checkpoint, "sub/deep"))(t)
			wantList(t, "notes", s.Notes, "mine")
			answerAll(t, l)
			out = must.Get(app.Resume(ctx, "t"))(t)
			wantList(t, "log", out.State.Log, "mine")
			if !own[0] {
				s = must.Get(graph.Within[innerState](ctx, l, out.Checkpoint, "sub/deep"))(t)
				wantList(t, "kept", s.Notes, "mine")
			}

			// The fork knows what there was, and does not reach into the original.
			s = must.Get(graph.Within[innerState](ctx, l, fork.ID, "sub/deep"))(t)
			wantList(t, "the fork's notes", s.Notes, "tea")
			if own[0] || own[1] {
				_, err = graph.UpdateWithin(ctx, l, fork.ID, "sub/deep", func(s *innerState) { s.Notes = nil })
				must.Fail(t, err, posthouse.ErrConflict)
			}
			out = must.Get(app.Resume(ctx, "t", graph.RunOptions{Branch: fork.Branch}))(t)
			if mine := must.Get(graph.ThreadWithin(ctx, l, out.Checkpoint, "sub/deep"))(t); mine == at {
				t.Errorf("the fork shares thread %s", at)
			}
			must.Get(graph.UpdateWithin(ctx, l, out.Checkpoint, "sub/deep", func(s *innerState) { s.Notes = []string{"forked"} }))(t)
			must.Get(app.Resume(ctx, "t", graph.RunOptions{Branch: fork.Branch}))(t)
			answerAll(t, l)
			out = must.Get(app.Resume(ctx, "t", graph.RunOptions{Branch: fork.Branch}))(t)
			wantList(t, "the fork", out.State.Log, "forked")
		})
	}
}

// A caller that was lost before it parked names the thread that it had called,
// not a newer fork of that.
func TestWithinTheThreadOfALostCall(t *testing.T) {
	store := memstore.New()
	first := &mortal{Store: store}
	sub := oneInner("note", func(_ context.Context, s *innerState) error { s.Topic = "x"; return nil })
	sub.Node("dies", func(context.Context, *innerState) error { first.dead.Store(true); return nil })
	sub.Edge("note", "dies")
	sub.Edge("dies", graph.End)
	app := owning(t, open(t, first, &ledger.Options{Owner: "p"}), map[string]*graph.Graph[innerState]{"sub": sub})
	if _, err := app.Run(t.Context(), "t", outerState{}); err == nil {
		t.Fatal("it outlived its store")
	}
	l := open(t, store, &ledger.Options{Owner: "p"})
	head := must.Get(l.Latest(t.Context(), ledger.LatestQuery{Thread: "t"}))(t)
	child := must.Get(graph.ThreadWithin(t.Context(), l, head.ID, "sub"))(t)
	for h, err := range l.List(t.Context(), posthouse.Query{Thread: child}) {
		if err != nil {
			t.Fatal(err)
		}
		must.Get(l.Fork(t.Context(), h.ID, &ledger.ForkOptions{Thread: "fork"}))(t)
		break
	}
	if in := must.Get(graph.ThreadWithin(t.Context(), l, head.ID, "sub"))(t); in != child {
		t.Errorf("it called %s, not %s", in, child)
	}
	if s := must.Get(graph.Within[innerState](t.Context(), l, head.ID, "sub"))(t); s.Topic != "x" {
		t.Errorf("%+v", s)
	}
}

// A thread of a subgraph that was released by itself, also if another run began
// under its name, reads as it was when its caller parked.
func TestWithinAThreadThatWasReleased(t *testing.T) {
	ctx, l := t.Context(), newLedger(t)
	app := deepAsking(t, l, [2]bool{true, false}, graph.PerCall)
	out := must.Get(app.Run(ctx, "t", outerState{Topic: "tea"}))(t)
	child := must.Get(graph.ThreadWithin(ctx, l, out.Checkpoint, "sub"))(t)
	must.Get(l.Release(ctx, child, nil))(t)
	for _, now := range []string{"released", "begun anew"} {
		if s := must.Get(graph.Within[innerState](ctx, l, out.Checkpoint, "sub"))(t); s.Topic != "tea" {
			t.Errorf("%s: %+v", now, s)
		}
		_, err := graph.UpdateWithin(ctx, l, out.Checkpoint, "sub", func(s *innerState) { s.Topic = "mine" })
		must.Fail(t, err, posthouse.ErrConflict)
		if now == "released" {
			other := compile(t, oneInner("n", visitInner("n")), l, nil)
			must.Get(other.Run(ctx, child, innerState{Topic: "other"}, graph.RunOptions{InterruptBefore: []string{"n"}}))(t)
		}
	}
}

// A fork of a caller takes along what a subgraph kept in a thread of its own as
// it was then, in a branch, a thread, a replay and a copy, at any depth; the
// original's goes its own way.
func TestForkCarriesWhatOwnThreadsKept(t *testing.T) {
	for _, own := range [][2]bool{{false, true}, {true, true}} {
		ctx, l := t.Context(), newLedger(t)
		app := deepAsking(t, l, own, graph.PerThread)
		call := func(thread, topic string, o graph.RunOptions) string {
			t.Helper()
			must.Get(app.Run(ctx, thread, outerState{Topic: topic}, o))(t)
			answerAll(t, l)
			out := must.Get(app.Resume(ctx, thread, graph.RunOptions{Branch: o.Branch}))(t)
			return out.State.Log[len(out.State.Log)-1]
		}
		call("t", "one", graph.RunOptions{})
		at := must.Get(app.State(ctx, "t"))(t).ID
		want := "one,two"
		if own[0] { // the subgraph around lives per call, and what it calls with it
			want = "two"
		}
		if got := call("t", "two", graph.RunOptions{}); got != want {
			t.Fatalf("%v: the original keeps %q, want %q", own, got, want)
		}
		b := must.Get(app.Fork(ctx, at, nil))(t)
		must.Get(app.Fork(ctx, at, nil, graph.ForkOptions{Thread: "f"}))(t)
		must.Get(transfer.CopyThread(ctx, l, "t", "c", nil))(t)
		for what, got := range map[string]string{
			"branch": call("t", "two", graph.RunOptions{Branch: b.Branch}),
			"thread": call("f", "two", graph.RunOptions{}),
		} {
			if got != want {
				t.Errorf("%v: %s keeps %q, want %q", own, what, got, want)
			}
		}
		last := map[bool]string{false: "one,two,three", true: "three"}[own[0]]
		for what, got := range map[string]string{
			"the original": call("t", "three", graph.RunOptions{}), "the copy": call("c", "three", graph.RunOptions{}),
			"again in the branch": call("t", "three", graph.RunOptions{Branch: b.Branch}),
		} {
			if got != last {
				t.Errorf("%v: %s keeps %q, want %q", own, what, got, last)
			}
		}
	}
}

// The state that a subgraph kept in a call beside an incomplete node belongs to
// no checkpoint yet, but to the step: a fork in the middle of the step takes it
// along.
func TestForkCarriesWhatATaskOfTheStepKept(t *testing.T) {
	l := newLedger(t)
	g := graph.New[outerState]("outer")
	graph.Subgraph(g, "sub", oneInner("note", func(_ context.Context, s *innerState) error { s.Notes = append(s.Notes, "x"); return nil }),
		&graph.SubOptions[outerState, innerState]{
			Out: func(s *outerState, in *innerState) error {
				s.Log = append(s.Log, strings.Join(in.Notes, ","))
				return nil
			},
			OwnThread: true, Lifetime: graph.PerThread,
		})
	g.Node("ask", func(ctx context.Context, s *outerState) error { _, err := ask(ctx, "q"); return err })
	g.Edge(graph.Start, "sub")
	g.Edge(graph.Start, "ask")
	g.Edge("ask", "sub")
	g.Edge("sub", graph.End)
	app := compile(t, g, l, nil)
	out := must.Get(app.Run(t.Context(), "t", outerState{}))(t)
	must.Get(app.Fork(t.Context(), out.Checkpoint, nil, graph.ForkOptions{Thread: "f"}))(t)
	answerAll(t, l)
	for _, thread := range []string{"t", "f"} {
		out = must.Get(app.Resume(t.Context(), thread))(t)
		wantList(t, thread, out.State.Log, "x", "x,x")
	}
}

// A subgraph goes on with the state it kept under its node's old name after the node was
// renamed.
func TestRenamedSubgraphHasWhatItsOwnThreadKept(t *testing.T) {
	l := newLedger(t)
	was := compile(t, echoes("sub", graph.PerThread), l, nil)
	must.Get(was.Run(t.Context(), "t", outerState{Topic: "one"}))(t)
	is := compile(t, echoes("new", graph.PerThread), l, &graph.CompileOptions{
		Migrations: []graph.Migration{{From: was.Fingerprint(), Nodes: map[string]string{"sub": "new"}}},
	})
	out := must.Get(is.Run(t.Context(), "t", outerState{Topic: "two"}))(t)
	wantList(t, "log", out.State.Log, "one", "one", "two")
	kept := must.Get(graph.Within[innerState](t.Context(), l, out.Checkpoint, "new"))(t)
	wantList(t, "kept", kept.Notes, "one", "two")
}
