package ledger

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// RetryTask opens a task anew that failed for good: no attempt was left, a worker gave it
// up, or its deadline passed. The new gate begins with the first attempt, under the task's
// key and with what handlers saved, and has as much time as the old one.
//
// If the branch failed and did nothing since the task did, it waits for the new gate in
// place, and goes on when that is decided. Otherwise the checkpoint that handed the task out
// is forked, and the new branch waits: what followed the failure stays as it is.
//
// [posthouse.ErrNotFound]; [posthouse.ErrInvalid] for a gate that is not a task's;
// [posthouse.ErrConflict] for one that is open, or that another gate replaced (Error.Gate);
// [posthouse.ErrDecided] for a task that is complete, or was cancelled; and the errors of
// [Ledger.Commit] and [Ledger.Fork].
func RetryTask(ctx context.Context, l *Ledger, gate posthouse.ID, by string) (*posthouse.Gate, error) {
	if err := posthouse.CheckPerson("by", by); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		g, err := l.Gate(ctx, gate)
		if err != nil {
			return nil, err
		}
		if err := checkRetry(g); err != nil {
			return nil, err
		}
		again, err := l.retryInPlace(ctx, g, by)
		if again != nil || err != nil && (!errors.Is(err, posthouse.ErrConflict) || try == core.MaxRetries) {
			return again, err
		}
		if err == nil {
			return l.retryOnFork(ctx, g, by)
		}
	}
}

func checkRetry(g *posthouse.Gate) error {
	switch d := g.Decision; {
	case g.Call == nil:
		return posthouse.Invalid("gate", "%s waits for a %s, not for a worker", g.ID, g.Kind)
	case d == nil:
		return &posthouse.Error{
			Code: posthouse.CodeConflict, Gate: g.ID, Message: "task " + string(g.ID) + " is open", Hint: "have it go on now: posthouse task resume " + string(g.ID),
		}
	case d.Successor != "":
		return g.Replaced(d.Successor)
	case d.Verdict != posthouse.Reject && d.Verdict != posthouse.Expire:
		return &posthouse.Error{
			Code: posthouse.CodeDecided, Decision: d, Message: "task " + string(g.ID) + " has not failed",
			Hint: "replay the checkpoint " + string(g.Checkpoint) + " to hand it out again in a fork",
		}
	}
	return nil
}

// FailedTasks returns the tasks that failed for good and with which the branch failed at its
// head, in the order in which they were handed out. Nothing for a head that did not fail.
func FailedTasks(ctx context.Context, l *Ledger, head *posthouse.Header) (failed []*posthouse.Gate, err error) {
	if head.Status != posthouse.StatusFailed {
		return nil, nil
	}
	executions, err := Executions(ctx, l, head)
	if err != nil {
		return nil, err
	}
	for _, x := range executions {
		failed = append(failed, failedIn(x)...)
	}
	return failed, nil
}

// failedIn returns the tasks that failed for good and that the execution did nothing behind.
func failedIn(x *Execution) (failed []*posthouse.Gate) {
	var last uint64
	for i := range x.Steps {
		last = max(last, x.Steps[i].Seq)
	}
	newest := map[posthouse.ID]posthouse.ID{} // gate by call
	for _, g := range x.Gates {
		if g.Call != nil {
			newest[g.Call.ID] = g.ID
		}
	}
	for _, g := range x.Gates {
		if checkRetry(g) == nil && newest[g.Call.ID] == g.ID && g.Decision.Seq > last {
			failed = append(failed, g)
		}
	}
	return failed
}

// retryInPlace opens the task at its branch's head, if the branch failed with it. It returns
// nil if the branch has gone on.
func (l *Ledger) retryInPlace(ctx context.Context, g *posthouse.Gate, by string) (*posthouse.Gate, error) {
	info, err := l.Thread(ctx, g.Thread)
	if err != nil {
		return nil, err
	}
	branch, ok := info.Branch(g.Branch)
	if !ok {
		return nil, nil
	}
	c, err := l.core.ReadCheckpoint(ctx, branch.Head)
	if err != nil {
		return nil, err
	}
	failed, err := FailedTasks(ctx, l, &c.Header)
	if err != nil {
		return nil, err
	}
	for _, f := range failed {
		if f.ID != g.ID {
			continue
		}
		done, err := l.Commit(ctx, &Draft{
			Thread: g.Thread, Branch: g.Branch, Head: &branch.Head, KeepOpen: true, Gates: []posthouse.Gate{retried(g, l.Now())},
			Checkpoint: next(c, posthouse.KindWait, posthouse.StatusWaiting, by),
		})
		if err != nil {
			return nil, err
		}
		return &done.Gates[0], nil
	}
	return nil, nil
}

// retried returns the gate that takes the place of a failed task's.
func retried(g *posthouse.Gate, now time.Time) posthouse.Gate {
	again := *g.Clone()
	again.ID, again.Supersedes, again.Decision, again.Origin = "", g.ID, nil, ""
	if !g.ExpiresAt.IsZero() {
		again.ExpiresAt = now.Add(g.ExpiresAt.Sub(g.Call.Began))
	}
	call := *g.Call
	call.Attempt, call.Paused, call.NotBefore, call.Began = 1, "", time.Time{}, time.Time{}
	call.Failure = cmp.Or(g.Decision.Reason, "its deadline passed")
	again.Call = &call
	return again
}

func (l *Ledger) retryOnFork(ctx context.Context, g *posthouse.Gate, by string) (*posthouse.Gate, error) {
	f, err := l.Fork(ctx, g.Checkpoint, &ForkOptions{By: by})
	if err != nil {
		return nil, err
	}
	return l.reopenedBy(ctx, f, g, func(again *posthouse.Gate) bool { return again.Call != nil })
}
