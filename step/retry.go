package step

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
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
