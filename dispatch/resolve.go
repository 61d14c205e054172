package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/task"
)

// WorkerPrefix begins the name under which a worker's verdict is on record.
const WorkerPrefix = posthouse.WorkerPrefix

// Resolve implements [task.Engine].
func (d *Dispatcher) Resolve(ctx context.Context, id task.ClaimID, v task.Verdict) error {
	if err := v.Check(); err != nil {
		return err
	}
	c, slot, err := d.claims.Find(ctx, id)
	if errors.Is(err, posthouse.ErrConflict) {
		return d.attempts.checkRepeated(ctx, id, &v)
	}
	if err != nil {
		return err
	}
	if v.Action == task.Interrupt {
		return d.releaseClaim(ctx, c)
	}
	o := outcome(c.Gate.Call, slot.Worker, &v, d.core.Now())
	if v.Action == task.Await {
		o.Waits, err = d.attempts.encodeWaits(ctx, c, v.Waits)
		if err != nil {
			return err
		}
	}
	err = d.attempts.resolve(ctx, c.Gate, o)
	if err == nil || isOver(err) {
		d.claims.Forget(c)
	}
	if isOver(err) {
		return d.attempts.checkRepeated(ctx, id, &v)
	}
	return err
}

// outcome says what a worker's verdict makes of a task.
func outcome(c *posthouse.TaskCall, worker string, v *task.Verdict, now time.Time) *commit.TaskOutcome {
	o := &commit.TaskOutcome{By: WorkerPrefix + worker, Why: whyOf(v)}
	switch v.Action {
	case task.Complete:
		o.Output = v.Output
	case task.FailPermanent:
		o.Failed, o.Undone = v.Reason, true
	case task.Unknown:
		o.Unknown = true
		if !c.Once() {
			o.Next = commit.NextAttempt(c, now, v.Reason, 0)
		}
		if o.Next == nil {
			o.Failed = v.Reason
		}
	case task.Fail, task.RetryAfter:
		o.Undone = true
		o.Next = commit.NextAttempt(c, now, v.Reason, v.Delay)
		if o.Next == nil {
			o.Failed = v.Reason
		}
	case task.Pause:
		o.Next = commit.Pause(c, now, v.Name, v.Delay)
	case task.Continue:
		var err error
		o.Next, err = commit.NextIteration(c, now, v.Output)
		if err != nil {
			o.Failed = err.Error()
		}
	}
	return o
}

// whyOf is what the log says of a verdict after which the task goes on.
func whyOf(v *task.Verdict) string {
	switch v.Action {
	case task.Pause:
		return "paused: " + v.Name
	case task.Continue:
		return "goes on with the next iteration"
	}
	return v.Reason
}
