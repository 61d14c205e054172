package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestRunMakesOneCheckpointPerNode(t *testing.T) {
	l := newLedger(t)
	a := compile(t, line("a", "b"), l, nil)
	began := l.Now().Truncate(time.Millisecond)
	out := must.Get(a.Run(t.Context(), "t", trail{}))(t)
	wantList(t, "nodes", out.State.Nodes, "a", "b")
	if out.Status != posthouse.StatusDone || len(out.Next) > 0 || out.Thread != "t" || out.Branch != "main" {
		t.Fatalf("result %+v", out)
	}
	h := history(t, a, "t")
	wantList(t, "history", kinds(h), "node b", "node a", "input")
	wantList(t, "next after the input", h[2].Next, "a")
	wantList(t, "next after a", h[1].Next, "b")
	for i, s := range h {
		want := posthouse.StatusRunning
		if i == 0 {
			want = posthouse.StatusDone
		}
		if s.Status != want || s.Step != uint64(2-i) || s.Graph != "line" || s.Fingerprint != a.Fingerprint() || s.Run != out.Run {
			t.Errorf("checkpoint %d: %+v", i, s.Header)
		}
		parent := posthouse.ID("")
		if i < 2 {
			parent = h[i+1].ID
		}
		if s.Parent != parent || s.CreatedAt.Before(began) || s.CreatedAt.After(l.Now()) {
			t.Errorf("checkpoint %d: parent %q, made at %s", i, s.Parent, s.CreatedAt)
		}
	}
	if n := len(entries(t, l, "t")); n != 3 {
		t.Errorf("%d entries for an input and two nodes, want 3: one commit each", n)
	}
}

func entries(tb testing.TB, l *ledger.Ledger, thread string) (list []*posthouse.Entry) {
	tb.Helper()
	for e, err := range l.Store().Read(tb.Context(), thread, posthouse.Range{}) {
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func TestRunWithoutNodes(t *testing.T) {
	g := graph.New[trail]("empty")
	g.Edge(graph.Start, graph.End)
	app := compile(t, g, newLedger(t), nil)
	out := must.Get(app.Run(t.Context(), "t", trail{N: 3}))(t)
	if out.Status != posthouse.StatusDone || out.State.N != 3 {
		t.Fatalf("result %+v", out)
	}
	_, names := collect(t, app.Stream(t.Context(), "streamed", trail{}))
	wantList(t, "it begins and ends", names, "input", "end")
}

func TestRunUsesTheDefaultThread(t *testing.T) {
	a := compile(t, line("a"), newLedger(t), nil)
	out := must.Get(a.Run(t.Context(), "", trail{}))(t)
	s := must.Get(a.State(t.Context(), ""))(t)
	if out.Thread != posthouse.DefaultThread || s.Thread != posthouse.DefaultThread {
		t.Fatalf("threads %q and %q", out.Thread, s.Thread)
	}
	if len(history(t, a, "")) != 2 {
		t.Fatal("no history")
	}
}

func TestInputIsMerged(t *testing.T) {
	a := compile(t, line("a"), newLedger(t), nil)
	must.Get(a.Run(t.Context(), "t", trail{Nodes: []string{"x"}, Go: "there", N: 1}))(t)
	out := must.Get(a.Run(t.Context(), "t", trail{Nodes: []string{"y"}, N: 2}))(t)
	wantList(t, "append part", out.State.Nodes, "x", "a", "y", "a")
	if out.State.Go != "there" || out.State.N != 2 {
		t.Fatalf("state %+v: zero parts stay, others replace", out.State)
	}
}

func TestInputIsCopied(t *testing.T) {
	type deep struct {
		M    map[string]int
		List []map[string]int `posthouse:"append"`
	}
	g := graph.New[deep]("deep")
	g.Node("a", func(_ context.Context, s *deep) error { s.M["a"] = 2; return nil })
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	a := compile(t, g, newLedger(t), nil)
	in := deep{M: map[string]int{"a": 1}, List: []map[string]int{{"x": 1}}}
	out := must.Get(a.Run(t.Context(), "t", in))(t)
	if in.M["a"] != 1 || out.State.M["a"] != 2 {
		t.Fatalf("input %v, output %v", in, out.State)
	}
	out.State.List[0]["x"] = 9
	if in.List[0]["x"] != 1 {
		t.Fatal("the input's elements are the output's")
	}
	if s := must.Get(a.State(t.Context(), "t"))(t); s.State.List[0]["x"] != 1 || s.State.M["a"] != 2 {
		t.Fatalf("state %+v", s.State)
	}
}

func TestRoute(t *testing.T) {
	g := graph.New[trail]("route")
	g.Node("a", visit("a"))
	g.Node("b", visit("b"))
	g.Route(graph.Start, func(s *trail) string { return s.Go })
	g.Edge("a", graph.End)
	g.Route("b", func(s *trail) string {
		if len(s.Nodes) < 3 {
			return "b"
		}
		return "a"
	}, "a", "b")
	a := compile(t, g, newLedger(t), nil)
	wantList(t, "to a", must.Get(a.Run(t.Context(), "1", trail{Go: "a"}))(t).State.Nodes, "a")
	wantList(t, "to b", must.Get(a.Run(t.Context(), "2", trail{Go: "b"}))(t).State.Nodes, "b", "b", "b", "a")

	_, err := a.Run(t.Context(), "3", trail{Go: "nowhere"})
	must.Fail(t, err, posthouse.ErrInvalid)
	if !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("the error does not say where the route leads: %v", err)
	}
	_, err = a.State(t.Context(), "3")
	must.Fail(t, err, posthouse.ErrNotFound)
}

func TestRouteOutsideItsTargetsFailsTheNode(t *testing.T) {
	g := graph.New[trail]("route")
	g.Node("a", visit("a"))
	g.Node("b", visit("b"))
	g.Edge(graph.Start, "a")
	g.Edge("b", graph.End)
	g.Route("a", func(s *trail) string { return "a" }, "b", graph.End)
	a := compile(t, g, newLedger(t), nil)
	_, err := a.Run(t.Context(), "t", trail{})
	var node *graph.NodeError
	if !errors.As(err, &node) || node.Node != "a" || !errors.Is(err, posthouse.ErrInvalid) {
		t.Fatalf("error %v", err)
	}
	s := must.Get(a.State(t.Context(), "t"))(t)
	if s.Status != posthouse.StatusFailed || len(s.State.Nodes) != 0 || s.ID != node.Checkpoint {
		t.Fatalf("head %+v", s)
	}
}

func TestRecursionLimit(t *testing.T) {
	g := graph.New[trail]("cycle")
	for _, n := range []string{"in", "x", "y", "z"} {
		g.Node(n, visit(n))
	}
	g.Edge(graph.Start, "in")
	g.Edge("in", "x")
	g.Edge("x", "y")
	g.Edge("y", "z")
	g.Edge("z", "x")
	a := compile(t, g, newLedger(t), &graph.CompileOptions{RecursionLimit: 8})
	_, err := a.Run(t.Context(), "t", trail{})
	var rec *graph.RecursionError
	if !errors.As(err, &rec) || rec.Limit != 8 || rec.Next != "y" || !strings.Contains(rec.Error(), "its limit of 8 steps") {
		t.Fatalf("error %v", err)
	}
	wantList(t, "cycle", rec.Cycle, "y", "z", "x")
	s := must.Get(a.State(t.Context(), "t"))(t)
	if s.Status != posthouse.StatusFailed || len(s.State.Nodes) != 8 || s.Error == "" {
		t.Fatalf("head %+v", s)
	}
	_, err = a.Resume(t.Context(), "t", graph.RunOptions{RecursionLimit: 2})
	if !errors.As(err, &rec) || rec.Limit != 2 || len(rec.Cycle) != 0 {
		t.Fatalf("error %v", err)
	}
	if s := must.Get(a.State(t.Context(), "t"))(t); len(s.State.Nodes) != 10 {
		t.Fatalf("%d nodes ran, want 10: resuming gives as many again", len(s.State.Nodes))
	}
	for _, o := range []graph.RunOptions{{RecursionLimit: -1}} {
		_, err = a.Resume(t.Context(), "t", o)
		must.Fail(t, err, posthouse.ErrInvalid)
	}
}

func TestAThousandSteps(t *testing.T) {
	a := loopApp(t, newLedger(t), 1000)
	if out := must.Get(a.Run(t.Context(), "t", start))(t); out.State.Count != 1000 {
		t.Fatalf("count %d", out.State.Count)
	}
}

func TestThreadsAreIndependent(t *testing.T) {
	l := newLedger(t)
	a := compile(t, line("a", "b", "c"), l, nil)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, err := a.Run(t.Context(), fmt.Sprintf("t%d", i), trail{N: i + 1}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 50 {
		h := history(t, a, fmt.Sprintf("t%d", i))
		if len(h) != 4 || h[0].State.N != i+1 || len(h[0].State.Nodes) != 3 {
			t.Errorf("thread %d: %d checkpoints, state %+v", i, len(h), h[0].State)
		}
	}
}

func TestOneRunnerPerThread(t *testing.T) {
	l := newLedger(t)
	entered, leave := make(chan bool), make(chan bool)
	g := graph.New[trail]("slow")
	g.Node("a", func(context.Context, *trail) error { entered <- true; <-leave; return nil })
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	a := compile(t, g, l, nil)
	done := make(chan error)
	go func() {
		_, err := a.Run(context.Background(), "t", trail{})
		done <- err
	}()
	<-entered
	_, err := a.Run(t.Context(), "t", trail{})
	must.Fail(t, err, posthouse.ErrBusy)
	_, err = a.Resume(t.Context(), "t")
	must.Fail(t, err, posthouse.ErrBusy)
	_, err = a.Update(t.Context(), "t", func(s *trail) { s.N = 1 })
	must.Fail(t, err, posthouse.ErrBusy)
	close(leave)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestAnotherGraphsThreadIsRefused(t *testing.T) {
	l := newLedger(t)
	must.Get(compile(t, line("a"), l, nil).Run(t.Context(), "t", trail{}))(t)
	g := graph.New[trail]("other")
	g.Node("a", visit("a"))
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	other := compile(t, g, l, nil)
	_, err := other.Run(t.Context(), "t", trail{})
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = other.Resume(t.Context(), "t")
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = other.Update(t.Context(), "t", nil)
	must.Fail(t, err, posthouse.ErrInvalid)
}

func TestResumeAtANodeThatIsGone(t *testing.T) {
	l := newLedger(t)
	a := compile(t, line("a", "b"), l, &graph.CompileOptions{InterruptBefore: []string{"b"}})
	must.Get(a.Run(t.Context(), "t", trail{}))(t)
	later := compile(t, line("a", "c"), l, nil)
	_, err := later.Resume(t.Context(), "t")
	must.Fail(t, err, posthouse.ErrInvalid)
	if !strings.Contains(err.Error(), `goes on at node "b"`) {
		t.Errorf("the error does not name the node: %v", err)
	}
	must.Get(later.Update(t.Context(), "t", nil, graph.UpdateOptions{Goto: "c"}))(t)
	wantList(t, "nodes", must.Get(later.Resume(t.Context(), "t"))(t).State.Nodes, "a", "c")
}

func TestOptionsAreGivenOnce(t *testing.T) {
	a := compile(t, line("a"), newLedger(t), nil)
	_, err := a.Run(t.Context(), "t", trail{}, graph.RunOptions{}, graph.RunOptions{})
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.State(t.Context(), "t", graph.StateOptions{}, graph.StateOptions{})
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.Update(t.Context(), "t", nil, graph.UpdateOptions{}, graph.UpdateOptions{})
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.Fork(t.Context(), "x", nil, graph.ForkOptions{}, graph.ForkOptions{})
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.Replay(t.Context(), "x", graph.RunOptions{}, graph.RunOptions{})
	must.Fail(t, err, posthouse.ErrInvalid)
	for _, err := range a.History(t.Context(), "t", graph.HistoryOptions{}, graph.HistoryOptions{}) {
		must.Fail(t, err, posthouse.ErrInvalid)
	}
}

// A full state is too large to commit: the node fails, the thread stays good.
func TestStateTooLarge(t *testing.T) {
	l := open(t, memstore.New(), &ledger.Options{MaxState: 1000})
	g := graph.New[trail]("big")
	g.Node("a", func(_ context.Context, s *trail) error { s.Go = strings.Repeat("x", 2000); return nil })
	g.Edge(graph.Start, "a")
	g.Edge("a", graph.End)
	a := compile(t, g, l, nil)
	_, err := a.Run(t.Context(), "t", trail{N: 7})
	must.Fail(t, err, posthouse.ErrTooLarge)
	s := must.Get(a.State(t.Context(), "t"))(t)
	if s.Status != posthouse.StatusFailed || s.State.N != 7 || s.State.Go != "" {
		t.Fatalf("head %+v", s)
	}
}
