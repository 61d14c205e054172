package step

import (
	"context"

	"github.com/posthouse/posthouse/internal/engine"
)

// RemoteOptions refine [RemoteWith]. The zero value is what [Remote] takes. Its fields:
//
//	Group   string               // of workers that may take it; "" is any
//	Limits  posthouse.TaskLimits // of attempts and iterations
//	Start   time.Duration        // from now until a worker may take it
//	Expires time.Duration        // from now until it fails with posthouse.ErrExpired; 0: never; at most 100 years
//	Metadata map[string]string   // given to the handler beside its input; at most 32 values
//	Trace   map[string]string    // given to the handler, for example a traceparent; at most 8 values
type RemoteOptions = engine.RemoteOptions

// A RemoteError says that a worker gave a task up, or that no attempt is left. It is on
// record, so a [Retry] around the task does not try again, unless its On says so. Its
// fields:
//
//	Task     string       // the name of the handler
//	Gate     posthouse.ID // of the last attempt
//	Worker   string       // that made it, as in "worker:gpu-1"
//	Attempts int          // of the last iteration
//	Reason   string       // what the handler said
type RemoteError = engine.RemoteError

// Remote has a worker handle a task, and returns its output. In is encoded as JSON, at most
// 1 MiB; Out is decoded from JSON. Until a worker has completed the task, Remote returns
// [posthouse.ErrWaiting], which parks the thread: no goroutine is held, and the task
// survives the end of this process and of every worker. Failed attempts are made again by
// other workers, with what the handler kept. Once an output is on record, every later
// execution returns it and no worker is asked.
//
// Errors: a [*RemoteError] when the task failed for good; [posthouse.ErrInvalid] for a name
// (1 to 195 bytes), an input or an output that does not fit; [posthouse.ErrTooLarge]; and as
// for [Sleep].
func Remote[Out, In any](ctx context.Context, name, task string, in In) (Out, error) {
	return RemoteWith[Out](ctx, name, task, in, RemoteOptions{})
}

// RemoteWith is [Remote] with options. Options that change between two executions do not
// count for a task on record.
func RemoteWith[Out, In any](ctx context.Context, name, task string, in In, o RemoteOptions) (out Out, err error) {
	t, err := engine.TaskOf(ctx, "task "+name)
	if err != nil {
		return out, err
	}
	err = t.Remote(ctx, name, &engine.RemoteCall{Task: task, RemoteOptions: o}, func() (any, error) { return in, nil }, &out)
	return out, err
}
