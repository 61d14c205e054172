package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Limits are those of an attempt.
type Limits struct {
	Timeout, IdleTimeout time.Duration // 0: none
	Whole                bool          // it is not given up as a whole: what it runs is, one by one
}

// grace is how long code whose time is up may take to heed its context.
const grace = time.Second

// RunLimited runs the code of a task within limits. Code that does not heed its context
// is given up: what it still does has no effect, nor has what it leaves in out.
func RunLimited[T any](ctx context.Context, t *Task, name string, l Limits, out *T, run func(context.Context, *T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := watchdog{Limits: l, name: name, cancel: cancel}
	w.start()
	defer w.stop()
	t.active = w.beat

	own := new(T) // the code may go on without the task
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, own) }()
	end := func(err error) error {
		*out = *own
		return w.cause(err)
	}
	select {
	case err := <-ended:
		return end(err)
	case <-ctx.Done():
	}
	if l.Whole { // its nodes are given up one by one
		err := <-ended
		if err == nil && w.expired() != nil { // the last of them did not heed its context, but ended
			err = context.Cause(ctx)
		}
		return end(err)
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-ended:
		return end(err)
	case <-late.C:
	}
	if e := w.expired(); e != nil {
		e.Abandoned = true
		return e
	}
	return givenUp{context.Cause(ctx)}
}

// A givenUp is why the context ended of a node that did not heed it.
type givenUp struct{ error }

func (e givenUp) Unwrap() error { return e.error }

// A watchdog ends a node's context when its time is up.
type watchdog struct {
	Limits
	name   string
	cancel context.CancelCauseFunc

	mu          sync.Mutex
	whole, idle *time.Timer
	fired       *TimeoutError
}

func (w *watchdog) start() {
	if d := w.Timeout; d > 0 {
		w.whole = time.AfterFunc(d, func() { w.fire(&TimeoutError{Node: w.name, After: d}) })
	}
	if d := w.IdleTimeout; d > 0 {
		w.idle = time.AfterFunc(d, func() { w.fire(&TimeoutError{Node: w.name, After: d, Idle: true}) })
	}
}

func (w *watchdog) fire(e *TimeoutError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fired == nil {
		w.fired = e
		w.cancel(e)
	}
}

func (w *watchdog) beat() {
	if w.idle != nil {
		w.idle.Reset(w.IdleTimeout)
	}
}

func (w *watchdog) stop() {
	for _, t := range []*time.Timer{w.whole, w.idle} {
		if t != nil {
			t.Stop()
		}
	}
}

func (w *watchdog) expired() *TimeoutError {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fired == nil {
		return nil
	}
	e := *w.fired
	return &e
}

// cause is what a node's error comes from: an error after the time was up is
// the timeout's.
func (w *watchdog) cause(err error) error {
	if e := w.expired(); e != nil && err != nil {
		e.Abandoned = errors.As(err, new(givenUp))
		return e
	}
	return err
}

// A TimeoutError is an attempt of a node that took longer than its
// Timeout, or showed no life for its IdleTimeout. It
// matches [context.DeadlineExceeded].
type TimeoutError struct {
	Node      string
	After     time.Duration
	Idle      bool // no sign of life for that long
	Abandoned bool // the node does not heed its context: it goes on without effect
}

// Error names the node and the limit.
func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("posthouse: node %q took longer than %s", e.Node, e.After)
	if e.Idle {
		s = fmt.Sprintf("posthouse: node %q showed no sign of life for %s", e.Node, e.After)
	}
	if e.Abandoned {
		s += " and does not heed its context: it was given up"
	}
	return s
}

// Is matches [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
