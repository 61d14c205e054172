package graph_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/store/memstore"
)

// A stage is a graph "a" -> "b" whose b tells that it runs, and waits for its
// context or for let.
type stage struct {
	app   *graph.App[trail]
	runs  chan string // the input's Go
	let   chan struct{}
	calls atomic.Int32
}

func newStage(t *testing.T, l *posthouse.Ledger) *stage {
	s := &stage{runs: make(chan string, 100), let: make(chan struct{})}
	g := graph.New[trail]("stage")
	g.Node("a", func(_ context.Context, st *trail) error { st.Nodes = append(st.Nodes, "a"+st.Go); return nil })
	g.Node("b", func(ctx context.Context, st *trail) error {
		s.calls.Add(1)
		s.runs <- st.Go
		select {
		case <-s.let:
			st.Nodes = append(st.Nodes, "b"+st.Go)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	s.app = compile(t, g, l, nil)
	return s
}

func (s *stage) start(t *testing.T, in string, o ...graph.RunOptions) *graph.Handle[trail] {
	t.Helper()
	return must(s.app.Start(t.Context(), "t", trail{Go: in}, o...))(t)
}

func wantEnd(t *testing.T, h *graph.Handle[trail], reason graph.Reason, status posthouse.Status, nodes ...string) *graph.Result[trail] {
	t.Helper()
	res := must(h.Result())(t)
	if h.Reason() != reason || res.Status != status {
		t.Fatalf("reason %q, status %q", h.Reason(), res.Status)
	}
	wantList(t, "nodes", res.State.Nodes, nodes...)
	return res
}

func TestHandleOfARunThatCompletes(t *testing.T) {
	s := newStage(t, newLedger(t))
	h := s.start(t, "1")
	if <-s.runs; h.Reason() != graph.Running {
		t.Error("it has ended", h.Reason())
	}
	if _, err := s.app.Start(t.Context(), "t", trail{}); !errors.Is(err, posthouse.ErrBusy) {
		t.Error(err)
	}
	close(s.let)
	wantEnd(t, h, graph.Done, posthouse.StatusDone, "a1", "b1")
	if err := h.Cancel(t.Context(), "too late"); err != nil {
		t.Error(err)
	}
	wantEnd(t, h, graph.Done, posthouse.StatusDone, "a1", "b1")
	wantEnd(t, must(s.app.ResumeStart(t.Context(), "t"))(t), graph.Done, posthouse.StatusDone, "a1", "b1")
}

// Cancelling ends what is in flight; the node that did not complete leaves no
// checkpoint. Resuming returns the state, a new input starts anew.
func TestHandleCancels(t *testing.T) {
	s := newStage(t, newLedger(t))
	h := s.start(t, "1")
	<-s.runs
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := h.Cancel(t.Context(), "no longer needed"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	wantEnd(t, h, graph.Cancelled, posthouse.StatusCancelled, "a1")
	wantList(t, "history", kinds(history(t, s.app, "t")), "cancel a", "node a", "input")
	if got := must(s.app.State(t.Context(), "t"))(t).Error; got != "no longer needed" {
		t.Errorf("reason on record %q", got)
	}
	out := must(s.app.Resume(t.Context(), "t"))(t)
	if out.Status != posthouse.StatusCancelled || s.calls.Load() != 1 {
		t.Errorf("resumed %+v", out)
	}
	close(s.let)
	wantEnd(t, s.start(t, "2"), graph.Done, posthouse.StatusDone, "a1", "a2", "b2")
}

// Whoever cancels, and wherever: the run ends the same way.
func TestLedgerCancelsARun(t *testing.T) {
	store := memstore.New()
	l := open(t, store, &posthouse.Options{Owner: "one"})
	for _, from := range []string{"here", "elsewhere"} {
		s := newStage(t, l)
		thread := "t-" + from
		h := must(s.app.Start(t.Context(), thread, trail{Go: "1"}))(t)
		<-s.runs
		by := l
		if from == "elsewhere" {
			by = open(t, store, &posthouse.Options{Owner: "two"})
		}
		must(by.Cancel(t.Context(), thread, &posthouse.CancelOptions{By: "alice", Reason: "stop"}))(t)
		if from == "elsewhere" {
			close(s.let) // it learns of it with its next commit
		}
		wantEnd(t, h, graph.Cancelled, posthouse.StatusCancelled, "a1")
		if head := must(s.app.State(t.Context(), thread))(t); head.Kind != posthouse.KindCancel || head.Error != "stop" || head.By != "alice" {
			t.Errorf("%s: head %+v", from, head.Header)
		}
	}
}

// Tasks that completed beside a cancelled one stay on record.
func TestCancelKeepsFinishedTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		a := fanned(t, l, func(context.Context, *fan) error { return nil }, func(ctx context.Context, _ *fan) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, nil)
		h := must(a.Start(t.Context(), "t", fan{}))(t)
		synctest.Wait()
		if err := h.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if res := must(h.Result())(t); res.Status != posthouse.StatusCancelled || h.Reason() != graph.Cancelled {
			t.Fatalf("%+v", res)
		}
		wantList(t, "on record", stepsOf(t, l, "t"), "1/a $done")
	})
}

// stepsOf lists the step results in a thread's log.
func stepsOf(t *testing.T, l *posthouse.Ledger, thread string) (list []string) {
	t.Helper()
	for e, err := range l.Log(t.Context(), thread, posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range e.Records {
			if s := e.Records[i].Step; s != nil {
				list = append(list, s.Task+" "+s.Name)
			}
		}
	}
	return list
}

// A stream that is cancelled ends with that, and a run of which nothing is on
// record leaves nothing.
func TestStreamOfACancelledRun(t *testing.T) {
	l := newLedger(t)
	s := newStage(t, l)
	var names []string
	for e, err := range s.app.Stream(t.Context(), "t", trail{}, modes(graph.StreamTasks)) {
		if err != nil {
			t.Fatal(err)
		}
		if names = append(names, strings.Join(texts([]graph.Event[trail]{e}), "")); e.Kind == graph.EventTaskStart && e.Node == "b" {
			must(l.Cancel(t.Context(), "t", nil))(t)
		}
		if e.Result != nil && e.Result.Status != posthouse.StatusCancelled {
			t.Errorf("result %+v", e.Result)
		}
	}
	wantList(t, "events", names, "task.start a", "task.finish a", "task.start b", "task.stop b", "end a")
}

func TestHandleDrains(t *testing.T) {
	l := newLedger(t)
	var h *graph.Handle[trail]
	ready := make(chan struct{})
	g := graph.New[trail]("drain")
	g.Node("a", func(_ context.Context, s *trail) error {
		<-ready
		h.Drain()
		h.Drain()
		s.Nodes = append(s.Nodes, "a")
		return nil
	})
	g.Node("b", visit("b"))
	g.Edge(graph.Start, "a")
	g.Edge("a", "b")
	g.Edge("b", graph.End)
	app := compile(t, g, l, nil)
	h = must(app.Start(t.Context(), "t", trail{}))(t)
	close(ready)
	wantEnd(t, h, graph.Done, posthouse.StatusRunning, "a")
	wantList(t, "resumed", must(app.Resume(t.Context(), "t"))(t).State.Nodes, "a", "b")

	drain := make(chan struct{}) // of a runner around it
	close(drain)
	around := must(app.Start(engine.WithDrain(t.Context(), drain), "u", trail{}))(t)
	wantEnd(t, around, graph.Done, posthouse.StatusRunning)
}

func TestHandleOfAFailure(t *testing.T) {
	a := compile(t, single(func(context.Context, *trail) error { return errBoom }), newLedger(t), nil)
	h := must(a.Start(t.Context(), "t", trail{}))(t)
	if _, err := h.Result(); !errors.Is(err, errBoom) || h.Reason() != graph.Failed {
		t.Fatal(err, h.Reason())
	}
	if err := h.Cancel(t.Context(), "late"); err != nil || h.Reason() != graph.Failed {
		t.Fatal(err, h.Reason())
	}
}
