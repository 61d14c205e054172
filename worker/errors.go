package worker

import (
	"errors"
	"time"

	"github.com/posthouse/posthouse/task"
)

// Causes of the end of a handler's context, and errors of its verbs.
var (
	// ErrSecondVerdict says that the execution has its verdict.
	ErrSecondVerdict = errors.New("worker: this execution has a verdict already")

	// ErrLost says that the task was cancelled, or given to another worker, or that the engine
	// does not know the session any more.
	ErrLost = errors.New("worker: this worker does not have the task any more")

	// ErrCutOff says that the engine has not answered for so long that it may give the task
	// to another worker.
	ErrCutOff = errors.New("worker: the engine does not answer")

	// ErrStopping says that the worker ends.
	ErrStopping = errors.New("worker: the worker stops")

	// ErrTimeout says that the attempt took longer than the task allows.
	ErrTimeout = errors.New("worker: the attempt took too long")
)

type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// Permanent marks an error that another attempt would not mend: the task fails for good. Nil
// stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

type retryError struct {
	error
	after time.Duration
}

func (e retryError) Unwrap() error { return e.error }

// RetryAfter delays the next attempt after this error by d, clamped to [task.MinRetry]
// and [task.MaxRetry]. Nil stays nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return retryError{err, d}
}

// verdictOf is what a handler's error says of its task.
func verdictOf(err error) task.Verdict {
	var permanent permanentError
	var retry retryError
	v := task.Verdict{Action: task.Fail, Reason: reasonOf(err)}
	switch {
	case errors.As(err, &permanent):
		v.Action = task.FailPermanent
	case errors.As(err, &retry):
		v.Action, v.Delay = task.RetryAfter, max(retry.after, 0)
	}
	return v
}
