package engine

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
)

// Limits are those of an attempt.
type Limits struct {
	Timeout, IdleTimeout time.Duration // 0: no limit
	Whole                bool          // it is never abandoned itself: the nodes that it runs are
}

// grace is how long code may go on once its context has ended.
const grace = time.Second

// RunAbandonable runs fn in a goroutine of its own and returns what it returned. Code
// that goes on for more than a second after ctx has ended is abandoned: its result is lost.
func RunAbandonable[T any](ctx context.Context, fn func() (T, error)) (v T, abandoned bool, err error) {
	type end struct {
		v   T
		err error
	}
	ended := make(chan end, 1)
	go func() {
		v, err := fn()
		ended <- end{v, err}
	}()
	done := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case e := <-ended:
			return e.v, false, e.err
		case <-done:
			done, late = nil, time.After(grace)
		case <-late:
			return v, true, nil
		}
	}
}

// RunLimited runs the code of a task within limits. Code that ignores the end of its
// context is abandoned: what it does from then on has no effect, and out stays as it is.
func RunLimited[T any](ctx context.Context, t *Task, name string, l Limits, out *T, run func(context.Context, *T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	whole, idle := &runs.TimeoutError{Node: name, After: l.Timeout}, &runs.TimeoutError{Node: name, After: l.IdleTimeout, Idle: true}
	if l.Timeout > 0 {
		defer time.AfterFunc(l.Timeout, func() { cancel(whole) }).Stop()
	}
	if l.IdleTimeout > 0 {
		timer := time.AfterFunc(l.IdleTimeout, func() { cancel(idle) })
		defer timer.Stop()
		t.active = func() { timer.Reset(l.IdleTimeout) }
	}
	expired := func() *runs.TimeoutError {
		if e, _ := context.Cause(ctx).(*runs.TimeoutError); e != nil && (e == whole || e == idle) {
			own := *e
			return &own
		}
		return nil
	}
	var err error
	if l.Whole {
		err = run(ctx, out)
		if err == nil && expired() != nil {
			err = context.Cause(ctx) // the last node was abandoned
		}
	} else {
		v, abandoned, failed := RunAbandonable(ctx, func() (own T, err error) {
			err = run(ctx, &own)
			return own, err
		})
		if e := expired(); abandoned && e != nil {
			e.Abandoned = true
			return e
		}
		if abandoned {
			return abandonedError{context.Cause(ctx)}
		}
		*out, err = v, failed
	}
	if e := expired(); e != nil && err != nil && !errors.Is(err, posthouse.ErrWaiting) { // else people are asked about an effect that was cut off
		e.Abandoned = errors.As(err, new(abandonedError))
		return e
	}
	return err
}

// An abandonedError is the cause of the context's end of a node that was abandoned.
type abandonedError struct{ error }

func (e abandonedError) Unwrap() error { return e.error }
