package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/runs"
)

func TestStream(t *testing.T) {
	a := compile(t, line("a", "b"), newLedger(t), nil)
	events, names := collect(t, a.Stream(t.Context(), "t", trail{}))
	wantList(t, "events", names, "input", "a", "b", "end")
	for i, want := range []int{0, 1, 2, 2} {
		e := events[i]
		if len(e.State.Nodes) != want || e.Checkpoint.Thread != "t" || (e.Result != nil) != (i == 3) {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	if r := events[3].Result; r.Status != posthouse.StatusDone || r.Checkpoint != events[2].Checkpoint.ID {
		t.Errorf("result %+v", r)
	}
	_, names = collect(t, a.ResumeStream(t.Context(), "t"))
	wantList(t, "resuming a finished thread", names, "end")
}

// The interruption is an element and the result.
func TestStreamOfAnInterrupt(t *testing.T) {
	calls := 0
	l := newLedger(t)
	a := compile(t, approval(&calls), l, nil)
	events, names := collect(t, a.Stream(t.Context(), "t", trail{}))
	wantList(t, "events", names, "input", "analyze", "park")
	park := events[2]
	if park.Node != "approve" || park.Result.Status != posthouse.StatusWaiting || len(park.Result.Waiting) != 1 {
		t.Fatalf("event %+v", park)
	}
	_, names = collect(t, a.ResumeStream(t.Context(), "t"))
	wantList(t, "undecided", names, "park")
	decide(t, l, park.Result.Waiting[0].ID, posthouse.Approve)
	_, names = collect(t, a.ResumeStream(t.Context(), "t"))
	wantList(t, "decided", names, "approve", "pay", "end")
}

func TestStreamOfAFailure(t *testing.T) {
	broken, paid := true, 0
	a := compile(t, paying(&broken, &paid), newLedger(t), nil)
	var names []string
	var last error
	for e, err := range a.Stream(t.Context(), "t", trail{}) {
		names, last = append(names, string(e.Kind)), err
	}
	wantList(t, "events", names, "input", "node", "")
	must.Fail(t, last, errBoom)
}

// A reader that leaves stops the run after the last node that it saw.
func TestStreamIsLeft(t *testing.T) {
	l := newLedger(t)
	a := compile(t, line("a", "b", "c"), l, nil)
	for leave, nodes := range map[string]int{"input": 0, "a": 1, "b": 2, "c": 3} {
		thread := "t-" + leave
		for e, err := range a.Stream(t.Context(), thread, trail{}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Node == leave || e.Kind == runs.EventInput && leave == "input" {
				break
			}
		}
		s := must.Get(a.State(t.Context(), thread))(t)
		if len(s.State.Nodes) != nodes {
			t.Errorf("left at %s: %q", leave, s.State.Nodes)
		}
		if info := must.Get(l.Thread(t.Context(), thread))(t); info.Lease.Held {
			t.Errorf("left at %s: the lease is held", leave)
		}
		wantList(t, "resumed", must.Get(a.Resume(t.Context(), thread))(t).State.Nodes, "a", "b", "c")
	}
}

func TestStreamReaderPanics(t *testing.T) {
	a := compile(t, line("a"), newLedger(t), nil)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the reader's panic was swallowed")
			}
		}()
		for range a.Stream(t.Context(), "t", trail{}) {
			panic("reader")
		}
	}()
	must.Get(a.Resume(t.Context(), "t"))(t) // the lease was given back
}

// A reader's changes to a state do not reach the nodes.
func TestStreamStatesAreCopies(t *testing.T) {
	type deep struct {
		M    map[string]int
		List []string `posthouse:"append"`
		Log  graph.Log[string]
	}
	g := graph.New[deep]("copies")
	for _, n := range []string{"a", "b"} {
		g.Node(n, func(_ context.Context, s *deep) error {
			if s.M == nil {
				s.M = map[string]int{}
			}
			s.M[n]++
			s.List = append(s.List, n)
			s.Log.Append(n)
			return nil
		})
	}
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	a := compile(t, g, newLedger(t), nil)
	for e, err := range a.Stream(t.Context(), "t", deep{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.State.M != nil {
			e.State.M["reader"] = 1
		}
		if len(e.State.List) > 0 {
			e.State.List[0] = "reader"
		}
		e.State.Log.Append("reader")
	}
	s := must.Get(a.State(t.Context(), "t"))(t).State
	if len(s.M) != 2 || s.List[0] != "a" || s.Log.Len() != 2 || s.Log.At(1) != "b" {
		t.Fatalf("state %+v", s)
	}
}

func TestDrain(t *testing.T) {
	drain := make(chan struct{})
	g := graph.New[trail]("drain")
	g.Node("a", func(_ context.Context, s *trail) error { s.Nodes = append(s.Nodes, "a"); close(drain); return nil })
	g.Node("b", visit("b"))
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	a := compile(t, g, newLedger(t), nil)
	out := must.Get(a.Run(engine.WithDrain(t.Context(), drain), "t", trail{}))(t)
	if out.Status != posthouse.StatusRunning {
		t.Fatalf("result %+v", out)
	}
	wantList(t, "resumed", must.Get(a.Resume(t.Context(), "t"))(t).State.Nodes, "a", "b")
}

func TestStreamBusy(t *testing.T) {
	a := compile(t, line("a"), newLedger(t), nil)
	for e, err := range a.Stream(t.Context(), "t", trail{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == runs.EventInput {
			if _, err := a.Resume(t.Context(), "t"); !errors.Is(err, posthouse.ErrBusy) {
				t.Fatalf("error %v while the stream is open", err)
			}
		}
	}
}
