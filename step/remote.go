package step

import (
	"context"

	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/runs"
)

// Remote has a worker handle a task, and returns its output. In is encoded as JSON, at most
// 1 MiB; Out is decoded from JSON. Until a worker has completed the task, Remote returns
// [posthouse.ErrWaiting], which parks the thread: no goroutine is held, and the task
// survives the end of this process and of every worker. Failed attempts are made again by
// other workers, with what the handler kept. Once an output is on record, every later
// execution returns it and no worker is asked.
//
// A failure for good is on record, too, until [ledger.RetryTask] opens the task again. A fork hands it
// out again, unless the program did something after the failure: see [ledger.Ledger.Fork].
//
// Errors: a [*runs.RemoteError] when the task failed for good; [posthouse.ErrInvalid] for a name
// (1 to 195 bytes), an input or an output that does not fit; [posthouse.ErrTooLarge]; and as
// for [Sleep].
func Remote[Out, In any](ctx context.Context, name, task string, in In) (Out, error) {
	return RemoteWith[Out](ctx, name, task, in, runs.RemoteOptions{})
}

// RemoteWith is [Remote] with options. Options that change between two executions do not
// count for a task on record.
func RemoteWith[Out, In any](ctx context.Context, name, task string, in In, o runs.RemoteOptions) (out Out, err error) {
	t, err := engine.TaskOf(ctx, "task "+name)
	if err != nil {
		return out, err
	}
	err = t.Remote(ctx, name, &engine.RemoteCall{Task: task, RemoteOptions: o}, func() (any, error) { return in, nil }, &out)
	return out, err
}
