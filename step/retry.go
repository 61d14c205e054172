package step

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Retry says how often a step that failed is tried again. The zero value
// means never. A failed attempt is on record before the wait for the next begins, with
// the time of that: a restart neither forgets nor hastens it. The step itself waits for
// a short time. A longer wait parks the thread: the step then returns
// [posthouse.ErrWaiting]. Its fields:
//
//	Max      int              // attempts behind the first; at most 100,000. 0: as flow.Options.Retry says; -1: none
//	Delay    time.Duration    // before the first retry; default 500 ms, negative: none
//	Backoff  Backoff          // how it grows; default Exponential
//	Factor   float64          // of Exponential; default 2
//	MaxDelay time.Duration    // no delay is longer; default 128 s, negative: no limit
//	Jitter   float64          // the share of each delay, 0 to 1, that is drawn at random and taken off
//	On       func(error) bool // whether to try again; default: unless it was a panic, an ErrInvalid or a RemoteError
//
// When all attempts failed the last one's error is returned. If it ends the run, or the
// program does nothing after it, the step is tried once more when the program is executed
// again. If the program acts after it, see [runs.Failure]. What the step recorded within itself
// before it failed is found by its next attempt.
type Retry = engine.Retry

// A Backoff says how the delays between attempts grow.
type Backoff = engine.Backoff

// The backoffs, for the n-th retry from 1.
const (
	Exponential = engine.Exponential // Delay * Factor^(n-1)
	Linear      = engine.Linear      // Delay * n
	Fixed       = engine.Fixed       // Delay
)

// A TimeoutError says that an attempt of a step took longer than Options.Timeout.
// It matches [context.DeadlineExceeded].
type TimeoutError struct {
	Step      string
	After     time.Duration
	Abandoned bool // the function ignores its context: it goes on, and its result is lost
}

// Error names the step and the limit.
func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("posthouse: step %q took longer than %s", e.Step, e.After)
	if e.Abandoned {
		s += " and ignores its context: it was given up"
	}
	return s
}

// Is matches [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// limited returns work that ends when its time is up, even if its function
// does not.
func limited(name string, after time.Duration, work engine.Work) engine.Work {
	return func(ctx context.Context) (posthouse.Value, error) {
		late := &TimeoutError{Step: name, After: after}
		ctx, cancel := context.WithTimeoutCause(ctx, after, late)
		defer cancel()
		v, abandoned, err := engine.RunAbandonable(ctx, func() (v posthouse.Value, err error) {
			err = engine.Guard(func() (err error) { v, err = work(ctx); return err })
			return v, err
		})
		switch expired := context.Cause(ctx) == error(late); {
		case abandoned && expired:
			return v, &TimeoutError{Step: name, After: after, Abandoned: true}
		case abandoned:
			return v, context.Cause(ctx)
		case err != nil && expired:
			return v, late
		}
		return v, err
	}
}
