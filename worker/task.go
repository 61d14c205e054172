package worker

import (
	"context"
	"encoding/json"
	"time"
)

// The roles of a [Task]. A handler that asks for less is easier to test.
type (
	// A SimpleTask is what every handler needs.
	SimpleTask interface {
		// Context ends when the execution should: with [ErrLost], [ErrCutOff], [ErrStopping]
		// or [ErrTimeout] as its cause.
		Context() context.Context

		Input() json.RawMessage
		RunID() string               // the thread
		StepID() string              // the step in it: the same for all attempts
		TaskName() string            // under which the handler is registered
		Attempt() int                // from 1
		LastFailure() string         // of the attempt before, "" for the first
		Metadata() map[string]string // as whoever handed the task out gave it, beside the input
		Trace() map[string]string    // as whoever handed the task out gave it

		// Key is the same for all attempts and iterations of the task, and of no other. Give it
		// to a service that does nothing twice under one key.
		Key() string

		// Complete ends the execution: the task is done. [task.EncodeOutput] says how output
		// becomes JSON: bytes that are JSON as they are, other UTF-8 text as a string.
		Complete(output any) error

		// Fail, FailPermanent and RetryAfter with an error that wraps that of a wait which is not
		// over ([posthouse.ErrWaiting]) park the task, as a return of that error does.
		Fail(err error) error                        // this attempt failed; there may be another
		FailPermanent(err error) error               // the task failed, and no attempt would help
		RetryAfter(err error, d time.Duration) error // as Fail; the next attempt begins after d
		Heartbeat() error                            // nil while the worker has the task. The worker itself renews it
	}

	// A CheckpointTask keeps bytes between attempts.
	CheckpointTask interface {
		SimpleTask

		// Checkpoint keeps state, at most [task.MaxSlot] bytes, for the next attempt or
		// iteration. It is durable when it returns nil, also once the context has ended because
		// the worker stops or the attempt takes too long. [posthouse.ErrUnsupported] for a task
		// without a slot, [posthouse.ErrConflict] once another attempt has begun.
		Checkpoint(state []byte) error

		// LoadCheckpoint returns what was kept last, nil for nothing. A state that was empty or
		// nil when it was kept is empty, and not nil.
		LoadCheckpoint() ([]byte, error)
	}

	// A LoopTask runs in iterations, and pauses.
	LoopTask interface {
		CheckpointTask

		// Pause ends the execution. The task goes on after d, with the same attempt and what
		// was kept. Nothing is held while it waits, and the pause survives restarts of
		// workers and engines.
		Pause(name string, d time.Duration) error

		// Resumed returns the name of the pause that the execution comes back from, or "".
		Resumed() string

		// Continue ends the execution and begins the next iteration, which finds value in
		// Continued and the original input in Input. It is encoded as in Complete.
		Continue(value any) error

		Iteration() int             // from 0
		Continued() json.RawMessage // nil in the first iteration
	}

	// A StreamTask tells what it does while it does it.
	StreamTask interface {
		SimpleTask

		// Stream sends a chunk, at most [task.MaxChunk] bytes of JSON, to those who follow the
		// thread. It is not recorded.
		Stream(chunk any) error
	}

	// A SignalTask sends signals to threads, and waits for them.
	SignalTask interface {
		SimpleTask

		// SendSignal sends a signal, in the worker's name, to the task's own thread or to that
		// of another task that the worker has: [posthouse.ErrForbidden] for others. The next
		// attempt, if it sends the same one, does not send it twice.
		SendSignal(thread, name string, value any) error

		// WaitSignal takes the next signal of a name that the task's own thread gets, and
		// returns its value. Until there is a signal it returns [posthouse.ErrWaiting]:
		// return that. The task is parked without holding anything, and the handler runs
		// again from its top once the signal is there. After the timeout, unless it is 0,
		// the error is [posthouse.ErrExpired], also when the handler runs again.
		WaitSignal(name string, timeout time.Duration) (json.RawMessage, error)
	}
)

// A Task is one execution of a task, with all that a handler can do.
type Task interface {
	LoopTask
	StreamTask
	SignalTask
}
