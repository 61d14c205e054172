package graph_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// A stage is a graph "a" -> "b". Its b tells that it runs, and waits for its
// context or for let.
type stage struct {
	app   *graph.App[trail]
	runs  chan string // the input's Go
	let   chan struct{}
	calls atomic.Int32
}

func newStage(t *testing.T, l *ledger.Ledger) *stage {
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
	return must.Get(s.app.Start(t.Context(), "t", trail{Go: in}, o...))(t)
}

func wantEnd(t *testing.T, h *graph.Handle[trail], reason runs.Reason, status posthouse.Status, nodes ...string) *graph.Result[trail] {
	t.Helper()
	res := must.Get(h.Result())(t)
	if h.Reason() != reason || res.Status != status {
		t.Fatalf("reason %q, status %q", h.Reason(), res.Status)
	}
	wantList(t, "nodes", res.State.Nodes, nodes...)
	return res
}

func TestHandleOfARunThatCompletes(t *testing.T) {
	s := newStage(t, newLedger(t))
	h := s.start(t, "1")
	if <-s.runs; h.Reason() != runs.Running {
		t.Error("it has ended", h.Reason())
	}
	if _, err := s.app.Start(t.Context(), "t", trail{}); !errors.Is(err, posthouse.ErrBusy) {
		t.Error(err)
	}
	close(s.let)
	wantEnd(t, h, runs.Done, posthouse.StatusDone, "a1", "b1")
	if err := h.Cancel(t.Context(), "too late"); err != nil {
		t.Error(err)
	}
	wantEnd(t, h, runs.Done, posthouse.StatusDone, "a1", "b1")
	wantEnd(t, must.Get(s.app.ResumeStart(t.Context(), "t"))(t), runs.Done, posthouse.StatusDone, "a1", "b1")
}

// Cancelling ends what is in flight; the node that did not complete leaves no
// checkpoint. Resuming returns the state, a new input starts over.
func TestHandleCancels(t *testing.T) {
	s := newStage(t, newLedger(t))
	h := s.start(t, "1")
	<-s.runs
	if err := h.Cancel(t.Context(), "no longer needed"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := h.Cancel(t.Context(), "too late to say why"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	wantEnd(t, h, runs.Cancelled, posthouse.StatusCancelled, "a1")
	wantList(t, "history", kinds(history(t, s.app, "t")), "cancel a", "node a", "input")
	if got := must.Get(s.app.State(t.Context(), "t"))(t).Error; got != "no longer needed" {
		t.Errorf("reason on record %q", got)
	}
	out := must.Get(s.app.Resume(t.Context(), "t"))(t)
	if out.Status != posthouse.StatusCancelled || s.calls.Load() != 1 {
		t.Errorf("resumed %+v", out)
	}
	close(s.let)
	wantEnd(t, s.start(t, "2"), runs.Done, posthouse.StatusDone, "a1", "a2", "b2")
}

// Whoever cancels, and wherever: the run ends the same way.
func TestLedgerCancelsARun(t *testing.T) {
	store := memstore.New()
	l := open(t, store, &ledger.Options{Owner: "one"})
	for _, from := range []string{"here", "elsewhere"} {
		s := newStage(t, l)
		thread := "t-" + from
		h := must.Get(s.app.Start(t.Context(), thread, trail{Go: "1"}))(t)
		<-s.runs
		by := l
		if from == "elsewhere" {
			by = open(t, store, &ledger.Options{Owner: "two"})
		}
		must.Get(by.Cancel(t.Context(), thread, &ledger.CancelOptions{By: "alice", Reason: "stop"}))(t)
		if from == "elsewhere" {
			close(s.let) // it learns of it with its next commit
		}
		wantEnd(t, h, runs.Cancelled, posthouse.StatusCancelled, "a1")
		if head := must.Get(s.app.State(t.Context(), thread))(t); head.Kind != posthouse.KindCancel || head.Error != "stop" || head.By != "alice" {
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
		h := must.Get(a.Start(t.Context(), "t", fan{}))(t)
		synctest.Wait()
		if err := h.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if res := must.Get(h.Result())(t); res.Status != posthouse.StatusCancelled || h.Reason() != runs.Cancelled {
			t.Fatalf("result %+v", res)
		}
		wantList(t, "on record", stepsOf(t, l, "t"), "1/a $done")
	})
}

// stepsOf lists the step results in a thread's log.
func stepsOf(t *testing.T, l *ledger.Ledger, thread string) (list []string) {
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

// A stream that is cancelled ends with that, and a run without records leaves
// nothing.
func TestStreamOfACancelledRun(t *testing.T) {
	l := newLedger(t)
	s := newStage(t, l)
	var names []string
	for e, err := range s.app.Stream(t.Context(), "t", trail{}, modes(runs.StreamTasks)) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.Join(texts([]graph.Event[trail]{e}), ""))
		if e.Kind == runs.EventTaskStart && e.Node == "b" {
			must.Get(l.Cancel(t.Context(), "t", nil))(t)
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
	h = must.Get(app.Start(t.Context(), "t", trail{}))(t)
	close(ready)
	wantEnd(t, h, runs.Done, posthouse.StatusRunning, "a")
	wantList(t, "resumed", must.Get(app.Resume(t.Context(), "t"))(t).State.Nodes, "a", "b")

	drain := make(chan struct{}) // of a runner around it
	close(drain)
	around := must.Get(app.Start(engine.WithDrain(t.Context(), drain), "u", trail{}))(t)
	wantEnd(t, around, runs.Done, posthouse.StatusRunning)
}

// TestDrainEndsAWait drains a run that waits by itself for what is soon due: it
// stops at once and does nothing more, and goes on later where it was.
func TestDrainEndsAWait(t *testing.T) {
	later := posthouse.RetryPolicy{MaxAttempts: 4, InitialDelay: 5 * time.Second, Backoff: posthouse.Fixed}
	for name, c := range map[string]struct {
		node   func(context.Context, *trail) error
		opt    graph.NodeOptions
		status posthouse.Status
	}{
		"for the next attempt": {func(context.Context, *trail) error { return errBoom }, graph.NodeOptions{Retry: later}, posthouse.StatusRunning},
		"for a step's":         {stepThatFails(posthouse.RetryPolicy{MaxAttempts: 4, InitialDelay: 5 * time.Second}), graph.NodeOptions{}, posthouse.StatusWaiting},
		"asleep":               {func(ctx context.Context, _ *trail) error { return step.Sleep(ctx, "z", 5*time.Second) }, graph.NodeOptions{}, posthouse.StatusWaiting},
	} {
		for _, around := range []string{"alone", "beside another", "in a subgraph"} {
			t.Run(name+" "+around, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					runs, began := 0, time.Now()
					node := func(ctx context.Context, s *trail) error {
						if runs++; time.Since(began) > time.Minute {
							return nil
						}
						return c.node(ctx, s)
					}
					g := graph.New[trail]("drain")
					switch around {
					case "in a subgraph":
						sub := graph.New[trail]("sub")
						sub.Node("n", node, c.opt)
						sub.Edge(graph.Start, "n")
						sub.Edge("n", graph.End)
						graph.Subgraph(g, "n", sub, nil)
					case "beside another":
						g.Node("o", visit("o"))
						g.Edge(graph.Start, "o")
						g.Edge("o", graph.End)
						fallthrough
					default:
						g.Node("n", node, c.opt)
					}
					g.Edge(graph.Start, "n")
					g.Edge("n", graph.End)
					app := compile(t, g, newLedger(t), nil)
					h := must.Get(app.Start(t.Context(), "t", trail{}))(t)
					synctest.Wait()
					h.Drain()
					res := must.Get(h.Result())(t)
					if took := time.Since(began); took != 0 || runs != 1 || res.Status != c.status {
						t.Fatalf("it took %s and %d runs, and is %s", took, runs, res.Status)
					}
					time.Sleep(2 * time.Minute)
					if res := must.Get(app.Resume(t.Context(), "t"))(t); res.Status != posthouse.StatusDone || runs != 2 {
						t.Errorf("resumed it is %s behind %d runs", res.Status, runs)
					}
				})
			})
		}
	}
}

func stepThatFails(r posthouse.RetryPolicy) func(context.Context, *trail) error {
	return func(ctx context.Context, _ *trail) error {
		_, err := step.DoWith(ctx, "s", step.Options{Retry: r}, func(context.Context) (int, error) { return 0, errBoom })
		return err
	}
}

func TestHandleOfAFailure(t *testing.T) {
	a := compile(t, single(func(context.Context, *trail) error { return errBoom }), newLedger(t), nil)
	h := must.Get(a.Start(t.Context(), "t", trail{}))(t)
	if _, err := h.Result(); !errors.Is(err, errBoom) || h.Reason() != runs.Failed {
		t.Fatalf("error %v, h.Reason() %v", err, h.Reason())
	}
	if err := h.Cancel(t.Context(), "late"); err != nil || h.Reason() != runs.Failed {
		t.Fatalf("error %v, h.Reason() %v", err, h.Reason())
	}
}
