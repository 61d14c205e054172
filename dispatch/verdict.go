package dispatch

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/task"
)

// A worker's verdict becomes an outcome, which is committed. A verdict that comes again is compared
// with the decision on record. An action that [task.Verdict] gets needs a case in the three functions
// here.

// outcome says what a worker's verdict makes of a task.
func outcome(c *posthouse.TaskCall, worker string, v *task.Verdict, now time.Time) *commit.TaskOutcome {
	o := &commit.TaskOutcome{By: WorkerPrefix + worker, Why: whyOf(v)}
	switch v.Action {
	case task.Complete:
		o.Output = v.Output
	case task.FailPermanent:
		o.Failed, o.Undone, o.Unknown = v.Reason, v.NotDone, !v.NotDone
	case task.Fail, task.RetryAfter, task.Unknown:
		o.Undone, o.Unknown = v.NotDone, !v.NotDone
		if v.NotDone || !c.Once() { // another attempt repeats nothing
			o.Next = commit.NextAttempt(c, now, v.Reason, v.Delay)
		}
		if o.Next == nil {
			o.Failed = v.Reason
		}
	case task.Pause:
		o.Next = commit.Pause(c, now, v.Name, v.Delay)
	case task.Continue:
		var err error
		o.Next, err = commit.NextIteration(c, now, v.Output)
		if err != nil {
			o.Failed, o.Unknown = err.Error(), true
		}
	case task.Await: // the caller says how the task goes on
	default: // an action that is listed and not handled here must not count as done
		o.Failed, o.Unknown = "the engine does not handle the verdict "+string(v.Action), true
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

// isVerdict reports whether a task's decision is what a verdict makes of it.
func (a *attempts) isVerdict(ctx context.Context, g *posthouse.Gate, v *task.Verdict) (bool, error) {
	dec := g.Decision
	failed := dec.Verdict == posthouse.Reject
	goesOn := dec.Successor != "" && dec.Reason == whyOf(v)
	switch v.Action {
	case task.Complete:
		return dec.Verdict == posthouse.Respond && commit.SameJSON(dec.Value, v.Output), nil
	case task.FailPermanent:
		return failed && dec.Reason == v.Reason, nil
	case task.Fail, task.RetryAfter, task.Unknown:
		return goesOn || failed && dec.Reason == v.Reason, nil
	case task.Pause:
		return goesOn, nil
	case task.Await:
		return dec.Verdict == commit.Parked && sameWaits(dec.Value, v.Waits), nil
	case task.Continue:
		if goesOn {
			next, err := a.ledger.Gate(ctx, dec.Successor)
			return err == nil && next.Call != nil && commit.SameJSON(next.Call.Continued, v.Output), err
		}
		_, err := commit.NextIteration(g.Call, dec.At, v.Output)
		return failed && err != nil && dec.Reason == err.Error(), nil // it was the last iteration
	}
	return false, nil
}
