package step

import (
	"context"
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// maxInput bounds the input of a task, in bytes. It travels with every claim.
const maxInput = 1 << 20

// RemoteOptions refine [RemoteWith]. The zero value is what [Remote] takes.
type RemoteOptions struct {
	Group   string               // of workers that may take it; "" is any
	Limits  posthouse.TaskLimits // of attempts and iterations
	Start   time.Duration        // from now until a worker may take it
	Expires time.Duration        // from now until it fails with [posthouse.ErrExpired]; 0: never; at most 100 years
	Trace   map[string]string    // given to the handler, for example a traceparent; at most 8 values
}

// A RemoteError says that a worker gave a task up, or that no attempt is left.
type RemoteError struct {
	Task     string       // the name of the handler
	Gate     posthouse.ID // of the last attempt
	Worker   string       // that made it, as in "worker:gpu-1"
	Attempts int          // of the last iteration
	Reason   string       // what the handler said
}

// Error names the task, its attempts and the handler's reason.
func (e *RemoteError) Error() string {
	return "task " + e.Task + " failed in attempt " + strconv.Itoa(e.Attempts) + " at " + e.Worker + ": " + e.Reason
}

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
func RemoteWith[Out, In any](ctx context.Context, name, task string, in In, o RemoteOptions) (Out, error) {
	var out Out
	t, err := engine.TaskOf(ctx, "task "+name)
	if err != nil {
		return out, err
	}
	g, err := remoteGate(t, name, task, in, &o)
	if err != nil {
		return out, err
	}
	done, err := t.Remote(ctx, name, *g)
	if err != nil {
		return out, err
	}
	d := done.Decision
	if d.Verdict == posthouse.Reject {
		return out, &RemoteError{Task: done.Call.Task, Gate: done.ID, Worker: d.By, Attempts: done.Call.Attempt, Reason: d.Reason}
	}
	if err := posthouse.JSON.Unmarshal(d.Value, &out); err != nil {
		return out, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "output", Err: err,
			Message: "of task " + done.Call.Task + " does not fit a " + reflect.TypeFor[Out]().String(),
			Hint:    "read such outputs with Remote[any], or fork from before the task and handle it anew",
		}
	}
	return out, nil
}

func remoteGate(t *engine.Task, name, task string, in any, o *RemoteOptions) (*posthouse.Gate, error) {
	const longest = 100 * 365 * 24 * time.Hour
	for _, d := range []struct {
		field string
		have  time.Duration
	}{{"Start", o.Start}, {"Expires", o.Expires}} {
		if d.have < 0 || d.have > longest {
			return nil, posthouse.Invalid(d.field, "of task %.40q must be between 0 and 100 years", name)
		}
	}
	if err := posthouse.ValidateName("task", task); err != nil {
		return nil, err
	}
	input, err := json.Marshal(in)
	if err != nil {
		return nil, posthouse.Invalid("input", "of task %.40q does not encode: %v", name, err)
	}
	if len(input) > maxInput {
		return nil, posthouse.TooLarge("input", len(input), maxInput)
	}
	g := &posthouse.Gate{Payload: input, Call: &posthouse.TaskCall{Task: task, Group: o.Group, Limits: o.Limits, Trace: o.Trace}}
	now := t.Session().Ledger().Now()
	if o.Start > 0 {
		g.Call.NotBefore = now.Add(o.Start)
	}
	if o.Expires > 0 {
		g.ExpiresAt = now.Add(o.Expires)
	}
	return g, nil
}
