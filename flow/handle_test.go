package flow_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// A stage is a flow of a step "a" and a step "b", which tells that it runs, and
// waits for its context or for let. It returns the inputs of the executions that
// came to their end.
type stage struct {
	app   *flow.App[string, string]
	runs  chan string // the input
	let   chan struct{}
	calls atomic.Int32
}

func newStage(t *testing.T, l *ledger.Ledger) *stage {
	t.Helper()
	s := &stage{runs: make(chan string, 100), let: make(chan struct{})}
	s.app = must.Get(flow.New("stage", func(ctx context.Context, in string) (string, error) {
		before, _, err := flow.Previous[string](ctx)
		if err != nil {
			return "", err
		}
		if _, err := step.Do(ctx, "a", func(context.Context) (string, error) { return in, nil }); err != nil {
			return "", err
		}
		return step.Do(ctx, "b", func(ctx context.Context) (string, error) {
			s.calls.Add(1)
			s.runs <- in
			select {
			case <-s.let:
				return before + in, nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})
	}).Open(l, nil))(t)
	return s
}

// owned opens a store as the process of this name.
func owned(t *testing.T, store posthouse.Store, owner string) *ledger.Ledger {
	t.Helper()
	l := must.Get(ledger.Open(store, &ledger.Options{Owner: owner}))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

func (s *stage) start(t *testing.T, in string, o ...flow.RunOptions) *flow.Handle[string] {
	t.Helper()
	return must.Get(s.app.Start(t.Context(), "t", in, o...))(t)
}

func wantEnd(t *testing.T, h *flow.Handle[string], reason runs.Reason, status posthouse.Status, out string) *flow.Result[string] {
	t.Helper()
	res := must.Get(h.Result())(t)
	if h.Reason() != reason || res.Status != status || res.Output != out {
		t.Fatalf("reason %q, result %+v; want %q, %q, %q", h.Reason(), res, reason, status, out)
	}
	return res
}

func TestHandleOfARunThatCompletes(t *testing.T) {
	s := newStage(t, owned(t, memstore.New(), "one"))
	h := s.start(t, "1")
	if <-s.runs; h.Reason() != runs.Running {
		t.Error("it has ended", h.Reason())
	}
	_, err := s.app.Start(t.Context(), "t", "2")
	must.Fail(t, err, posthouse.ErrBusy)
	close(s.let)
	<-h.Done()
	wantEnd(t, h, runs.Done, posthouse.StatusDone, "1")
	if err := h.Cancel(t.Context(), "too late"); err != nil {
		t.Error(err)
	}
	wantEnd(t, h, runs.Done, posthouse.StatusDone, "1")
	wantEnd(t, must.Get(s.app.ResumeStart(t.Context(), "t"))(t), runs.Done, posthouse.StatusDone, "1")
}

// Cancelling ends what is in flight; the step that did not complete is not on
// record, the one that did is. A new input starts over.
func TestHandleCancels(t *testing.T) {
	s := newStage(t, owned(t, memstore.New(), "one"))
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
	wantEnd(t, h, runs.Cancelled, posthouse.StatusCancelled, "")
	if got := steps(t, s.app, "t"); got != "input a cancel " {
		t.Error("history", got)
	}
	if got := must.Get(s.app.State(t.Context(), "t"))(t).Error; got != "no longer needed" {
		t.Errorf("reason on record %q", got)
	}
	res, err := s.app.Resume(t.Context(), "t")
	if wantStatus(t, res, err, posthouse.StatusCancelled); s.calls.Load() != 1 {
		t.Error("the function was executed again")
	}
	close(s.let)
	wantEnd(t, s.start(t, "2"), runs.Done, posthouse.StatusDone, "2")
}

// Whoever cancels, and wherever, also a function that fails of itself just then:
// the run ends the same way.
func TestLedgerCancelsARun(t *testing.T) {
	store := memstore.New()
	l := owned(t, store, "one")
	for _, from := range []string{"here", "elsewhere"} {
		begun, let := make(chan struct{}), make(chan struct{})
		a := must.Get(flow.New("order", func(ctx context.Context, fails bool) (string, error) {
			close(begun)
			select {
			case <-let:
			case <-ctx.Done():
			}
			if fails {
				return "", errBoom
			}
			return "paid", nil
		}).Open(l, nil))(t)
		for _, fails := range []bool{false, true} {
			begun, let = make(chan struct{}), make(chan struct{})
			thread := fmt.Sprint("t-", from, fails)
			h := must.Get(a.Start(t.Context(), thread, fails))(t)
			<-begun
			by := l
			if from == "elsewhere" {
				by = owned(t, store, fmt.Sprint("two", fails))
			}
			must.Get(by.Cancel(t.Context(), thread, &ledger.CancelOptions{By: "alice", Reason: "stop"}))(t)
			if from == "elsewhere" {
				close(let) // it learns of it with its next commit
			}
			wantEnd(t, h, runs.Cancelled, posthouse.StatusCancelled, "")
			if head := must.Get(a.State(t.Context(), thread))(t); head.Kind != posthouse.KindCancel || head.Error != "stop" || head.By != "alice" {
				t.Errorf("%s: head %+v", thread, head.Header)
			}
		}
	}
}

// A step that had acted when the request came is on record.
func TestCancelKeepsAStepThatIsDone(t *testing.T) {
	for _, from := range []string{"one", "two"} {
		w := newWorld(t)
		l := owned(t, w.store, "one")
		by := l
		if from != "one" {
			by = owned(t, w.store, from)
		}
		a := must.Get(flow.New("order", func(ctx context.Context, _ int) (string, error) {
			v, err := step.Do(ctx, "pay", func(ctx context.Context) (string, error) {
				must.Get(by.Cancel(t.Context(), "t", nil))(t)
				return w.effect("pay"), nil // its context has ended, but it had paid
			})
			if err != nil {
				return v, err
			}
			return w.do(ctx, "ship")
		}).Open(l, nil))(t)
		res, err := a.Run(t.Context(), "t", 1)
		wantStatus(t, res, err, posthouse.StatusCancelled)
		if got := steps(t, a, "t"); got != "input pay cancel " {
			t.Errorf("cancelled by %s, the history is %s", from, got)
		}
		w.want("[pay]")
	}
}

// A request that comes when the function has just parked, and its run has the
// thread still, is heeded.
func TestCancelOfARunThatParks(t *testing.T) {
	w := newWorld(t)
	var l *ledger.Ledger
	o := &ledger.Options{Observer: func(e posthouse.Operation) {
		if e.Kind == posthouse.OpSaved && e.Header.Kind == posthouse.KindWait {
			must.Get(l.Cancel(t.Context(), "t", &ledger.CancelOptions{Reason: "late"}))(t)
		}
	}}
	l = must.Get(ledger.Open(w.store, o))(t)
	a := must.Get(flow.New("order", order(w)).Open(l, nil))(t)
	h := must.Get(a.Start(t.Context(), "t", "book"))(t)
	res := wantEnd(t, h, runs.Cancelled, posthouse.StatusCancelled, "")
	if len(res.Waiting) != 0 || must.Get(a.State(t.Context(), "t"))(t).ID != res.Checkpoint {
		t.Errorf("result %+v", res)
	}
}

func TestHandleDrains(t *testing.T) {
	w := newWorld(t)
	l := w.ledger()
	var h *flow.Handle[string]
	ready := make(chan struct{})
	a := must.Get(flow.New("order", func(ctx context.Context, _ int) (string, error) {
		if _, err := step.Do(ctx, "a", func(context.Context) (string, error) {
			<-ready
			h.Drain()
			h.Drain()
			return w.effect("a"), nil
		}); err != nil {
			return "", err
		}
		return w.do(ctx, "b")
	}).Open(l, nil))(t)
	h = must.Get(a.Start(t.Context(), "t", 1))(t)
	close(ready)
	wantEnd(t, h, runs.Done, posthouse.StatusRunning, "")
	w.want("[a]")
	res, err := a.Resume(t.Context(), "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	w.want("[a b]")

	drain := make(chan struct{}) // of a runner around it
	close(drain)
	wantEnd(t, must.Get(a.Start(engine.WithDrain(t.Context(), drain), "u", 1))(t), runs.Done, posthouse.StatusRunning, "")
}

func TestHandleOfAFailure(t *testing.T) {
	w := newWorld(t)
	a := app(w, func(context.Context, int) (string, error) { return "", errBoom }, nil)
	h := must.Get(a.Start(t.Context(), "t", 1))(t)
	if _, err := h.Result(); !errors.Is(err, errBoom) || h.Reason() != runs.Failed {
		t.Fatalf("error %v, h.Reason() %v", err, h.Reason())
	}
	if err := h.Cancel(t.Context(), "late"); err != nil || h.Reason() != runs.Failed {
		t.Fatalf("error %v, h.Reason() %v", err, h.Reason())
	}
}
