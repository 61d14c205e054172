package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/memstore"
)

var errBoom = errors.New("boom")

// paying is a graph with a second node that calls out and fails while broken is set.
func paying(broken *bool, paid *int) *graph.Graph[trail] {
	g := graph.New[trail]("paying")
	g.Node("prepare", visit("prepare"))
	g.Node("pay", func(ctx context.Context, s *trail) error {
		s.Nodes = append(s.Nodes, "pay")
		if _, err := do(ctx, "charge", func() (int, error) { *paid++; return *paid, nil }); err != nil {
			return err
		}
		if *broken {
			return errBoom
		}
		return nil
	})
	g.Node("thank", visit("thank"))
	g.Edge(graph.Start, "prepare")
	g.Edge("prepare", "pay")
	g.Edge("pay", "thank")
	g.Edge("thank", graph.End)
	return g
}

// A failed node runs again, a recorded step never does, a succeeded node
// neither.
func TestResumeAfterAFailedNode(t *testing.T) {
	store, broken, paid := memstore.New(), true, 0
	a := compile(t, paying(&broken, &paid), open(t, store, nil), nil)
	_, err := a.Run(t.Context(), "t", trail{N: 5})
	var node *graph.NodeError
	if !errors.As(err, &node) || node.Node != "pay" || !errors.Is(err, errBoom) {
		t.Fatalf("error %v", err)
	}
	s := must.Get(a.State(t.Context(), "t"))(t)
	if s.Kind != posthouse.KindFail || s.Status != posthouse.StatusFailed || s.Error != "boom" || s.ID != node.Checkpoint {
		t.Fatalf("head %+v", s.Header)
	}
	wantList(t, "state from before the node", s.State.Nodes, "prepare")
	wantList(t, "next", s.Next, "pay")

	_, err = a.Resume(t.Context(), "t")
	must.Fail(t, err, errBoom)
	broken = false
	fresh := compile(t, paying(&broken, &paid), open(t, store, nil), nil) // as after a restart
	out := must.Get(fresh.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "prepare", "pay", "thank")
	if paid != 1 || out.Status != posthouse.StatusDone {
		t.Fatalf("paid %d times, status %s", paid, out.Status)
	}
	must.Get(fresh.Resume(t.Context(), "t"))(t)
	if paid != 1 || len(history(t, fresh, "t")) != 6 {
		t.Fatal("resuming a finished thread ran something")
	}
}

func TestResumeOfAFinishedThread(t *testing.T) {
	a := compile(t, line("a"), newLedger(t), nil)
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	again := must.Get(a.Resume(t.Context(), "t"))(t)
	if again.Checkpoint != out.Checkpoint || again.Status != posthouse.StatusDone {
		t.Fatalf("result %+v", again)
	}
	wantList(t, "nodes", again.State.Nodes, "a")
}

func TestResumeOfAnUnknownThread(t *testing.T) {
	a := compile(t, line("a"), newLedger(t), nil)
	_, err := a.Resume(t.Context(), "nobody")
	must.Fail(t, err, posthouse.ErrNotFound)
	must.Fail(t, a.Advance(t.Context(), "nobody", "main"), posthouse.ErrNotFound)
	_, err = a.Resume(t.Context(), "no such\nname")
	must.Fail(t, err, posthouse.ErrInvalid)
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	_, err = a.Resume(t.Context(), "t", graph.RunOptions{Branch: "nobody"})
	must.Fail(t, err, posthouse.ErrNotFound)
}

func TestResumeOfACheckpointSavedByHand(t *testing.T) {
	l := newLedger(t)
	state := posthouse.State{"N": {Codec: "json", Data: []byte("7")}, "Extra": {Codec: "raw", Data: []byte("kept")}}
	if _, err := l.Save(t.Context(), posthouse.Root("t", state), nil); err != nil {
		t.Fatal(err)
	}
	a := compile(t, line("a"), l, nil)
	_, err := a.Resume(t.Context(), "t")
	must.Fail(t, err, posthouse.ErrInvalid)
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	if out.State.N != 7 {
		t.Fatalf("state %+v", out.State)
	}
	c := must.Get(l.Get(t.Context(), out.Checkpoint))(t)
	if string(c.State["Extra"].Data) != "kept" {
		t.Fatal("a part that the graph does not have was lost")
	}
}

func TestPanicIsAnError(t *testing.T) {
	g := graph.New[trail]("panic")
	g.Node("a", func(_ context.Context, s *trail) error { s.N = 1; panic("on the floor") })
	g.Edge(graph.Start, "a")
	g.Route("a", func(*trail) string { panic("in the route") })
	a := compile(t, g, newLedger(t), nil)
	_, err := a.Run(t.Context(), "t", trail{})
	var node *graph.NodeError
	if !errors.As(err, &node) || !strings.Contains(err.Error(), "on the floor") || !strings.Contains(err.Error(), "resume_test.go") {
		t.Fatalf("error %v", err)
	}
	s := must.Get(a.State(t.Context(), "t"))(t)
	if s.Status != posthouse.StatusFailed || s.State.N != 0 || !strings.Contains(s.Error, "on the floor") {
		t.Fatalf("head %+v", s)
	}
}

func TestPanicInARouteIsAnError(t *testing.T) {
	g := graph.New[trail]("panic")
	g.Node("a", visit("a"))
	g.Edge(graph.Start, "a")
	g.Route("a", func(*trail) string { panic("in the route") })
	a := compile(t, g, newLedger(t), nil)
	_, err := a.Run(t.Context(), "t", trail{})
	if err == nil || !strings.Contains(err.Error(), "in the route") {
		t.Fatalf("error %v", err)
	}
	if s := must.Get(a.State(t.Context(), "t"))(t); s.Status != posthouse.StatusFailed {
		t.Fatalf("head %+v", s)
	}
}

func TestCancelLeavesTheThreadResumable(t *testing.T) {
	l := newLedger(t)
	ctx, cancel := context.WithCancel(t.Context())
	g := graph.New[trail]("cancel")
	g.Node("a", visit("a"))
	g.Node("b", func(ctx context.Context, s *trail) error {
		s.Nodes = append(s.Nodes, "b")
		cancel()
		return ctx.Err()
	})
	g.Node("c", visit("c"))
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", "c")
	g.Edge("c", graph.End)
	a := compile(t, g, l, nil)
	_, err := a.Run(ctx, "t", trail{})
	must.Fail(t, err, context.Canceled)
	s := must.Get(a.State(t.Context(), "t"))(t)
	wantList(t, "nodes", s.State.Nodes, "a")
	if s.Status != posthouse.StatusRunning {
		t.Fatalf("status %q", s.Status)
	}
	wantList(t, "next", s.Next, "b")
	_, err = a.Run(ctx, "t2", trail{})
	must.Fail(t, err, context.Canceled)
	_, err = a.State(t.Context(), "t2")
	must.Fail(t, err, posthouse.ErrNotFound)
	wantList(t, "resumed", must.Get(a.Resume(t.Context(), "t"))(t).State.Nodes, "a", "b", "c")
}

// A node that finished is on record even if the context ended while it ran.
func TestCancelKeepsFinishedWork(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := graph.New[trail]("cancel")
	g.Node("a", func(_ context.Context, s *trail) error { cancel(); s.N = 1; return nil })
	g.Node("b", visit("b"))
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	a := compile(t, g, newLedger(t), nil)
	_, err := a.Run(ctx, "t", trail{})
	must.Fail(t, err, context.Canceled)
	s := must.Get(a.State(t.Context(), "t"))(t)
	if s.State.N != 1 || s.Node != "a" || s.Status != posthouse.StatusRunning {
		t.Fatalf("head %+v", s)
	}
}

// After a restart, in a fresh process, the node, what is next and the state
// are the same.
func TestReloadInAFreshProcess(t *testing.T) {
	store := memstore.New()
	opt := &graph.CompileOptions{InterruptAfter: []string{"*"}}
	a := compile(t, line("a", "b", "c"), open(t, store, nil), opt)
	out := must.Get(a.Run(t.Context(), "t", trail{N: 3, Go: "x"}))(t)
	for _, want := range []string{"a", "b", "c"} {
		fresh := compile(t, line("a", "b", "c"), open(t, store, nil), opt)
		s := must.Get(fresh.State(t.Context(), "t"))(t)
		if s.Node != want || s.ID != out.Checkpoint || s.State.N != 3 || s.State.Go != "x" || s.State.Nodes[len(s.State.Nodes)-1] != want {
			t.Fatalf("want node %s: %+v", want, s)
		}
		wantList(t, "next", s.Next, out.Next...)
		out = must.Get(fresh.Resume(t.Context(), "t"))(t)
	}
	if out.Status != posthouse.StatusDone {
		t.Fatalf("status %q", out.Status)
	}
}
