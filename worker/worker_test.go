package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A site is an engine with a program that has a task as its one step.
type site struct {
	*testing.T
	l   *ledger.Ledger
	d   *dispatch.Dispatcher
	app *flow.App[int, any]
}

func newSite(t *testing.T, o runs.RemoteOptions) *site {
	t.Helper()
	return newSiteOver(t, memstore.New(), o)
}

func newSiteOver(t *testing.T, store posthouse.Store, o runs.RemoteOptions) *site {
	t.Helper()
	l, err := ledger.Open(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, l: l}
	f := flow.New("f", func(ctx context.Context, in int) (any, error) { return step.RemoteWith[any](ctx, "do", "work", in, o) })
	s.app, err = f.Open(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.d, err = dispatch.New(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.start(s.d.Run)
	return s
}

// start runs fn until the test ends, or stop is called.
func (s *site) start(fn func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- fn(ctx) }()
	stop = func() error {
		cancel()
		err := <-ended
		ended <- nil
		return err
	}
	s.Cleanup(func() {
		if err := stop(); err != nil {
			s.Error(err)
		}
	})
	return stop
}

// work starts a worker with a handler.
func (s *site) work(e task.Engine, name string, h worker.Handler) (stop func() error) {
	s.Helper()
	w, err := worker.New(e, &worker.Options{Name: name, DrainTimeout: time.Second})
	if err != nil {
		s.Fatal(err)
	}
	w.HandleFunc("work", h)
	return s.start(w.Run)
}

// outcome runs a thread to its end.
func (s *site) outcome(thread string) (any, error) {
	s.Helper()
	res, err := s.app.Run(s.Context(), thread, 7)
	if err != nil {
		return nil, err
	}
	return s.output(res)
}

// output runs a thread on to its end.
func (s *site) output(res *flow.Result[any]) (any, error) {
	s.Helper()
	var err error
	for n := 0; err == nil && res.Status == posthouse.StatusWaiting; n++ {
		if n > 10_000 {
			s.Fatal("it waits for ever")
		}
		pause := 100 * time.Millisecond
		if n > 1000 { // hours may have to pass
			pause = 10 * time.Second
		}
		<-time.After(pause)
		res, err = s.app.Resume(s.Context(), res.Thread)
	}
	if err != nil {
		return nil, err
	}
	return res.Output, nil
}

func (s *site) wantFailure(thread, want string) {
	s.Helper()
	_, err := s.outcome(thread)
	var failed *runs.RemoteError
	if !errors.As(err, &failed) || !strings.Contains(failed.Reason, want) {
		s.Errorf("%v, not %q", err, want)
	}
}

func TestTypedHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		w, err := worker.New(s.d, &worker.Options{Name: "w1", Concurrency: 20})
		if err != nil {
			t.Fatal(err)
		}
		worker.Handle(w, "work", func(t worker.Task, in int) (int, error) { return 2 * in, nil })
		s.start(w.Run)
		for i := range 20 {
			if out, err := s.outcome(fmt.Sprint("t", i)); err != nil || fmt.Sprint(out) != "14" {
				t.Errorf("output %v, error %v", out, err)
			}
		}
	})
}

// TestItemsAreSkippedOnRetry: a handler that processes 100 items and dies at the 73rd goes on
// with the 73rd.
func TestItemsAreSkippedOnRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		var done []int
		s.work(s.d, "w1", func(t worker.Task) error {
			next, _, err := worker.Load[int](t)
			if err != nil {
				return err
			}
			for ; next < 100; next++ {
				if next == 73 && t.Attempt() == 1 {
					panic("out of memory")
				}
				done = append(done, next)
				if err := worker.Save(t, next+1); err != nil {
					return err
				}
			}
			return t.Complete(t.LastFailure())
		})
		out, err := s.outcome("t")
		if err != nil || out != "panic: out of memory" {
			t.Errorf("output %v, error %v", out, err)
		}
		if len(done) != 100 || !slices.IsSorted(done) || done[99] != 99 {
			t.Errorf("processed %v", done)
		}
	})
}

// TestVerdicts: each execution has exactly one.
func TestVerdicts(t *testing.T) {
	var second error
	for name, c := range map[string]struct {
		handler worker.Handler
		failure string // "" for one that completes
	}{
		"none":        {func(worker.Task) error { return nil }, "without a verdict"},
		"an error":    {func(worker.Task) error { return errors.New("no route") }, "no route"},
		"a permanent": {func(worker.Task) error { return worker.Permanent(errors.New("bad key")) }, "bad key"},
		"fails":       {func(t worker.Task) error { return t.FailPermanent(errors.New("no such page")) }, "no such page"},
		"a panic":     {func(worker.Task) error { panic("oops") }, "panic: oops"},
		"two": {func(t worker.Task) error {
			err := t.Complete("first")
			second = t.Fail(errors.New("second"))
			return err
		}, ""},
		"one that does not fit": {func(t worker.Task) error {
			if err := t.Complete(strings.Repeat("x", task.MaxOutput+1)); !errors.Is(err, posthouse.ErrTooLarge) {
				return worker.Permanent(fmt.Errorf("a large output: %v", err))
			}
			return t.Complete("first")
		}, ""},
		"an error behind it": {func(t worker.Task) error { return errors.Join(t.Complete("first"), errors.New("late")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2}}})
				executed := 0
				s.work(s.d, "w1", func(t worker.Task) error { executed++; return c.handler(t) })
				if c.failure != "" {
					s.wantFailure("t", c.failure)
				} else if out, err := s.outcome("t"); err != nil || out != "first" || executed != 1 {
					t.Errorf("%v, %v, executed %d times", out, err, executed)
				}
				if name == "a permanent" && executed != 1 || name == "none" && executed != 2 {
					t.Errorf("executed %d times", executed)
				}
			})
		})
	}
	if !errors.Is(second, worker.ErrSecondVerdict) {
		t.Errorf("a second verdict: %v", second)
	}
}

// TestLoops: pauses and iterations, with what was kept and what was continued with.
func TestLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		var seen []string
		s.work(s.d, "w1", func(t worker.Task) error {
			state, err := t.LoadCheckpoint()
			if err != nil {
				return err
			}
			seen = append(seen, fmt.Sprintf("%d %q %s %s", t.Iteration(), t.Resumed(), t.Continued(), state))
			switch {
			case t.Iteration() == 2:
				return t.Complete("done")
			case t.Resumed() == "":
				if err := t.Checkpoint([]byte(fmt.Sprint("kept ", t.Iteration()))); err != nil {
					return err
				}
				return t.Pause("nap", time.Minute)
			}
			return t.Continue(map[string]int{"n": t.Iteration()})
		})
		begun := time.Now()
		if out, err := s.outcome("t"); err != nil || out != "done" {
			t.Errorf("output %v, error %v", out, err)
		}
		want := []string{`0 ""  `, `0 "nap"  kept 0`, `1 "" {"n":0} kept 0`, `1 "nap" {"n":0} kept 1`, `2 "" {"n":1} kept 1`}
		if !slices.Equal(seen, want) {
			t.Errorf("seen %q", seen)
		}
		if d := time.Since(begun); d < 2*time.Minute {
			t.Errorf("it took %s", d)
		}
	})
}

func TestNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{Limits: posthouse.TaskLimits{NoSlot: true}})
		s.work(s.d, "w1", func(t worker.Task) error {
			if state, err := t.LoadCheckpoint(); state != nil || err != nil {
				return worker.Permanent(fmt.Errorf("%q, %v", state, err))
			}
			return t.Complete(errors.Is(t.Checkpoint([]byte("x")), posthouse.ErrUnsupported))
		})
		if out, err := s.outcome("t"); err != nil || out != true {
			t.Errorf("output %v, error %v", out, err)
		}
	})
}

// A cable leads to an engine, and can be cut: then a call has no answer until its context
// ends.
type cable struct {
	task.Engine
	cut atomic.Bool
}

func (c *cable) gone(ctx context.Context) error {
	if !c.cut.Load() {
		return nil
	}
	<-ctx.Done()
	return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "no answer", Err: ctx.Err()}
}

func (c *cable) Connect(ctx context.Context, h task.Hello) (*task.Session, error) {
	if err := c.gone(ctx); err != nil {
		return nil, err
	}
	return c.Engine.Connect(ctx, h)
}

func (c *cable) Heartbeat(ctx context.Context, id string, have []task.ClaimID) (*task.Pulse, error) {
	if err := c.gone(ctx); err != nil {
		return nil, err
	}
	return c.Engine.Heartbeat(ctx, id, have)
}

func (c *cable) Claim(ctx context.Context, id string) (*task.Claim, error) {
	if err := c.gone(ctx); err != nil {
		return nil, err
	}
	return c.Engine.Claim(ctx, id)
}

func (c *cable) Resolve(ctx context.Context, id task.ClaimID, v task.Verdict) error {
	if err := c.gone(ctx); err != nil {
		return err
	}
	return c.Engine.Resolve(ctx, id, v)
}

// TestAWorkerThatIsCutOffStopsItself: before another one begins.
func TestAWorkerThatIsCutOffStopsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		line := &cable{Engine: s.d}
		var running atomic.Int32
		var cause error
		var cutAt, stopped, taken time.Time
		s.work(line, "w1", func(t worker.Task) error {
			running.Add(1)
			defer running.Add(-1)
			cutAt = time.Now()
			line.cut.Store(true)
			<-t.Context().Done()
			cause, stopped = context.Cause(t.Context()), time.Now()
			return t.Complete("stale")
		})
		started := make(chan struct{})
		go func() {
			defer close(started)
			for !line.cut.Load() {
				time.Sleep(10 * time.Millisecond)
			}
			s.work(s.d, "w2", func(t worker.Task) error {
				taken = time.Now()
				return t.Complete(fmt.Sprint("taken over while ", running.Load(), " run"))
			})
		}()
		if out, err := s.outcome("t"); err != nil || out != "taken over while 0 run" {
			t.Errorf("output %v, error %v", out, err)
		}
		<-started
		if !errors.Is(cause, worker.ErrCutOff) || stopped.Sub(cutAt) > 2500*time.Millisecond || taken.Sub(cutAt) > 5*time.Second {
			t.Errorf("%v after %s, taken over after %s", cause, stopped.Sub(cutAt), taken.Sub(cutAt))
		}
		line.cut.Store(false)
	})
}

// TestDrain: handlers end in their grace time; what they leave is another's at once.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		begun := make(chan struct{}, 2)
		slow := func(t worker.Task) error {
			begun <- struct{}{}
			select {
			case <-t.Context().Done():
				return context.Cause(t.Context())
			case <-time.After(time.Hour):
				return t.Complete("slow")
			}
		}
		stop := s.work(s.d, "w1", slow)
		res, err := s.app.Run(t.Context(), "t", 7)
		if err != nil || res.Status != posthouse.StatusWaiting {
			t.Fatalf("result %+v, error %v", res, err)
		}
		<-begun
		if err := stop(); err != nil {
			t.Error(err)
		}
		at := time.Now()
		s.work(s.d, "w2", func(t worker.Task) error { return t.Complete(t.Attempt()) })
		for res.Status == posthouse.StatusWaiting && err == nil {
			time.Sleep(10 * time.Millisecond)
			res, err = s.app.Resume(t.Context(), "t")
		}
		if err != nil || fmt.Sprint(res.Output) != "1" || time.Since(at) > time.Second {
			t.Errorf("%+v, %v, after %s", res, err, time.Since(at))
		}
	})
}

// TestAHandlerThatDoesNotStop is reported, and nothing that it still does counts.
func TestAHandlerThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		begun, release, late := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		w, err := worker.New(s.d, &worker.Options{Name: "w1", DrainTimeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		w.HandleFunc("work", func(t worker.Task) error {
			close(begun)
			<-release
			late <- t.Complete("late")
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		if _, err := s.app.Run(t.Context(), "t", 7); err != nil {
			t.Fatal(err)
		}
		<-begun
		cancel()
		if err := <-ended; err == nil {
			t.Error("Run says nothing of a handler that goes on")
		}
		close(release)
		if err := <-late; err == nil {
			t.Error("a late verdict was taken")
		}
	})
}

// TestSignalsAreSentOnce, however many attempts send them.
func TestSignalsAreSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		s.work(s.d, "w1", func(t worker.Task) error {
			for i := range 2 {
				if err := t.SendSignal(t.RunID(), "news", i); err != nil {
					return err
				}
			}
			if t.Attempt() < 3 {
				return errors.New("again")
			}
			return t.Complete("done")
		})
		if out, err := s.outcome("t"); err != nil || out != "done" {
			t.Fatalf("output %v, error %v", out, err)
		}
		n := 0
		for e, err := range s.l.Log(t.Context(), "t", posthouse.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range e.Records {
				if r.Signal != nil && r.Signal.Name == "news" {
					n++
				}
			}
		}
		if n != 2 {
			t.Errorf("%d signals", n)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for field, o := range map[string]worker.Options{
		"worker": {Name: "a\nb"}, "group": {Name: "w", Group: "\x00"}, "atOnce": {Name: "w", Concurrency: -1}, "DrainTimeout": {Name: "w", DrainTimeout: -1},
	} {
		var e *posthouse.Error
		if _, err := worker.New(nil, &o); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	w, err := worker.New(nil, &worker.Options{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a worker without handlers: %v", err)
	}
}
