package graph_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/memstore"
)

// An edit through an element's pointer is found before the thread parks, too.
func TestEditsAreFoundWhenTheRunParks(t *testing.T) {
	g := graph.New[lists]("parks")
	g.Node("edit", func(_ context.Context, s *lists) error { s.Deep[0].Tags["x"] = 9; return nil })
	g.Node("ask", func(ctx context.Context, s *lists) error { _, err := ask(ctx, "q"); return err })
	g.Edge(graph.Start, "edit")
	g.Edge("edit", "ask")
	g.Edge("ask", graph.End)
	a := compile(t, g, newLedger(t), &graph.CompileOptions{})
	_, err := a.Run(t.Context(), "t", someLists())
	must.Fail(t, err, posthouse.ErrInvalid)
	if s := must.Get(a.State(t.Context(), "t"))(t); s.Status != posthouse.StatusFailed || s.State.Deep[0].Tags["x"] != 1 {
		t.Fatalf("head %+v", s)
	}
}

// Records that a task holds back are committed with whatever follows, also if the
// run is cancelled.
func TestHeldResultsAreKept(t *testing.T) {
	for _, how := range []string{"done", "failed", "cancelled", "waiting"} {
		t.Run(how, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			recorded := false
			g := graph.New[trail]("held")
			g.Node("a", func(ctx context.Context, s *trail) error {
				task, _ := engine.From(ctx)
				r, ok := task.Records().Recorded("call")
				recorded = ok
				if ok {
					return nil
				}
				r.Value = posthouse.Value{Codec: "json", Data: []byte("7")}
				task.Records().Hold(r.Step)
				switch how {
				case "failed":
					return errBoom
				case "cancelled":
					cancel()
					return errBoom
				case "waiting":
					_, err := ask(ctx, "q")
					return err
				}
				return nil
			})
			g.Edge(graph.Start, "a")
			g.Edge("a", graph.End)
			l := newLedger(t)
			a := compile(t, g, l, nil)
			out, err := a.Run(ctx, "t", trail{})
			switch how {
			case "cancelled":
				must.Fail(t, err, context.Canceled)
				must.Fail(t, err, errBoom)
			case "failed":
				must.Fail(t, err, errBoom)
			case "waiting":
				decide(t, l, out.Waiting[0].ID, posthouse.Approve)
			case "done":
				if c := entries(t, l, "t"); len(c) != 2 {
					t.Fatalf("%d entries", len(c))
				}
				return
			}
			must.Get(a.Resume(t.Context(), "t"))(t)
			if !recorded {
				t.Fatal("what was held is not on record")
			}
		})
	}
}

// An answer that comes while its step runs is no answer to what another task of
// the step asks then.
func TestAnswerWhileTheStepRuns(t *testing.T) {
	l := newLedger(t)
	var other posthouse.ID
	g := graph.New[trail]("beside")
	g.Node("x", func(ctx context.Context, s *trail) error {
		if _, err := ask(ctx, "one"); err != nil {
			return err
		}
		if other != "" {
			decide(t, l, other, posthouse.Approve)
			other = ""
		}
		d, err := ask(ctx, "two")
		if err == nil {
			s.Nodes = append(s.Nodes, "x "+d.By)
		}
		return err
	})
	g.Node("y", func(ctx context.Context, s *trail) error {
		_, err := ask(ctx, "y")
		s.Nodes = append(s.Nodes, "y")
		return err
	})
	for _, n := range []string{"x", "y"} {
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	a := compile(t, g, l, nil)
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	for _, w := range out.Waiting {
		if w.Name == "one" {
			decide(t, l, w.ID, posthouse.Approve)
		} else {
			other = w.ID
		}
	}
	out = must.Get(a.Resume(t.Context(), "t"))(t)
	if out.Status != posthouse.StatusWaiting || len(out.Waiting) != 1 || out.Waiting[0].Name != "two" {
		t.Fatalf("%s, waiting for %v, with %q", out.Status, out.Waiting, out.State.Nodes)
	}
	decide(t, l, out.Waiting[0].ID, posthouse.Approve)
	out = must.Get(a.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "x alice", "y")
}

// Fields tagged "-" go from node to node and are stored nowhere.
func TestFieldsThatAreNotStored(t *testing.T) {
	type state struct {
		N     int
		Trace func(string) `posthouse:"-"`
	}
	var traced []string
	g := graph.New[state]("carried")
	for _, n := range []string{"a", "b"} {
		g.Node(n, func(_ context.Context, s *state) error {
			if s.Trace != nil {
				s.Trace(n)
			}
			s.N++
			return nil
		}, graph.NodeOptions{InterruptBefore: n == "b"})
	}
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	store := memstore.New()
	a := compile(t, g, open(t, store, nil), nil)
	must.Get(a.Run(t.Context(), "t", state{}))(t)
	out := must.Get(a.Run(t.Context(), "t", state{Trace: func(n string) { traced = append(traced, n) }}))(t)
	wantList(t, "traced", traced, "a")
	if out.State.Trace == nil || out.State.N != 2 {
		t.Fatalf("state %+v", out.State)
	}
	out = must.Get(a.Resume(t.Context(), "t"))(t)
	if out.State.Trace != nil || out.State.N != 3 {
		t.Fatalf("state %+v", out.State)
	}
	if a.Name() != "carried" {
		t.Fatal(a.Name())
	}
}
