package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

// TestAStepThatEndsWhileTheWorkerStops: the step is on record, and so is the value that the
// handler saves then. The next worker neither pays again nor starts from the beginning.
func TestAStepThatEndsWhileTheWorkerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		var c tally
		begun := make(chan struct{}, 2)
		var saved, loaded, after error
		pay := func(context.Context) (int, error) {
			begun <- struct{}{}
			<-time.After(1500 * time.Millisecond) // a call that is not given up half way
			return c.add("paid"), nil
		}
		h := func(w worker.Task) error {
			if _, err := step.Do(w.Context(), "pay", pay); err != nil {
				return err
			}
			if c.add("execution") == 1 {
				saved = w.Checkpoint([]byte("a receipt"))
				_, loaded = w.LoadCheckpoint()
				_, after = step.Do(w.Context(), "thank", pay)
				return after
			}
			state, err := w.LoadCheckpoint()
			if err != nil {
				return err
			}
			return w.Complete(string(state))
		}
		stop := s.work(s.d, "w1", h)
		res, err := s.app.Run(t.Context(), "t", 7)
		if err != nil {
			t.Fatal(err)
		}
		<-begun
		if err := stop(); err != nil {
			t.Error(err)
		}
		s.work(s.d, "w2", h)
		out, err := s.output(res)
		if err != nil || out != "a receipt" || c.of("paid") != 1 {
			t.Errorf("%v, %v; %v", out, err, c.n)
		}
		if saved != nil || loaded != nil || !errors.Is(after, worker.ErrStopping) {
			t.Errorf("saved: %v, loaded: %v; another step: %v", saved, loaded, after)
		}
	})
}

// TestAHandlerSavesWhenItsTimeIsOver: the next attempt loads it.
func TestAHandlerSavesWhenItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{Limits: posthouse.TaskLimits{Timeout: time.Minute, RetryPolicy: posthouse.RetryPolicy{InitialDelay: time.Millisecond}}})
		s.work(s.d, "w1", func(w worker.Task) error {
			if w.Attempt() == 2 {
				state, err := w.LoadCheckpoint()
				return errors.Join(err, w.Complete(string(state)))
			}
			<-w.Context().Done()
			if err := w.Checkpoint([]byte("half")); err != nil {
				return worker.Permanent(err)
			}
			return w.Context().Err()
		})
		if out, err := s.outcome("t"); err != nil || out != "half" {
			t.Errorf("output %v, error %v", out, err)
		}
	})
}

// A forgetful engine does not know the session of whoever claims.
type forgetful struct {
	task.Engine
	forgets atomic.Bool
}

func (e *forgetful) Claim(ctx context.Context, id string) (*task.Claim, error) {
	if e.forgets.Load() {
		return nil, posthouse.NotFound("session", posthouse.ID(id))
	}
	return e.Engine.Claim(ctx, id)
}

// TestASessionThatIsGone ends executions with a documented cause, whatever call hears of it
// first. Their later calls are refused.
func TestASessionThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		e := &forgetful{Engine: s.d}
		w, err := worker.New(e, &worker.Options{Name: "w1", Concurrency: 2, DrainTimeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var cause, late error
		w.HandleFunc("work", func(w worker.Task) error {
			if w.Attempt() == 2 {
				return w.Complete("again")
			}
			e.forgets.Store(true)
			<-w.Context().Done()
			cause, late = context.Cause(w.Context()), w.Checkpoint(nil)
			e.forgets.Store(false)
			return w.Context().Err()
		})
		s.start(w.Run)
		if out, err := s.outcome("t"); err != nil || fmt.Sprint(out) != "again" {
			t.Errorf("output %v, error %v", out, err)
		}
		if !errors.Is(cause, worker.ErrLost) || !errors.Is(late, worker.ErrLost) {
			t.Errorf("%v; late: %v", cause, late)
		}
	})
}
