package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// RetryOptions say how a task is retried. Nil is the zero value.
type RetryOptions struct {
	By string // who retries it; recorded in the new checkpoint

	// Fork, if set, is called before the task opens on a new branch, with the gate that failed
	// and the one to be opened, which has no id yet. An error ends the call.
	Fork func(ctx context.Context, failed, again *posthouse.Gate) error
}

// RetryTask opens a task again that failed for good: no attempt was left, a worker gave it
// up, or its deadline passed. The new gate begins with the first attempt, under the task's
// key and with the values that handlers saved, and has as much time as the old one.
//
// If the branch failed and did nothing since the task did, it waits for the new gate in
// place, and goes on when that is decided. Otherwise the checkpoint that handed the task out
// is forked, and the new branch waits: what followed the failure stays as it is. It finds what
// the handler's steps had recorded. Each failure is retried once, in one of the two ways.
//
// [posthouse.ErrNotFound]; [posthouse.ErrInvalid] for a gate that is not a task's;
// [posthouse.ErrConflict] for one that is open, or that another gate replaced (Error.Gate);
// [posthouse.ErrUnsupported] for one that the fork would not wait for;
// [posthouse.ErrDecided] for a task that is complete, or was cancelled; and the errors of
// [Ledger.Commit] and [Ledger.Fork].
func RetryTask(ctx context.Context, l *Ledger, gate posthouse.ID, o *RetryOptions) (*posthouse.Gate, error) {
	if o == nil {
		o = &RetryOptions{}
	}
	if err := posthouse.CheckPerson("by", o.By); err != nil {
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
		seen, err := l.Thread(ctx, g.Thread)
		if err != nil {
			return nil, err
		}
		r := &taskRetry{l: l, gate: g, seen: seen, opts: o}
		if by, err := r.successor(ctx); by != "" || err != nil {
			return nil, cmp.Or(err, g.Replaced(by))
		}
		again, err := r.inPlace(ctx)
		if again == nil && err == nil {
			again, err = r.onFork(ctx)
		}
		faster := errors.Is(err, posthouse.ErrConflict) || errors.Is(err, posthouse.ErrExists) // another call
		if !faster || try == core.MaxRetries {
			return again, err
		}
	}
}

// A taskRetry opens a task again that failed for good.
type taskRetry struct {
	l    *Ledger
	gate *posthouse.Gate       // the failed one
	seen *posthouse.ThreadInfo // what was read of the thread holds as long as this is its summary
	opts *RetryOptions
}

// successor returns the gate that took the place of the failed one, "" if no gate did.
func (r *taskRetry) successor(ctx context.Context) (posthouse.ID, error) {
	for e, err := range r.l.core.Logs.InOrder(ctx, r.gate.Thread, posthouse.Range{From: r.gate.Decision.Seq + 1, Headers: true}) {
		if err != nil {
			return "", err
		}
		recs, err := e.Records()
		if err != nil {
			return "", err
		}
		for i := range recs {
			if o := recs[i].Gate; o != nil && o.Supersedes == r.gate.ID {
				return o.ID, nil
			}
		}
	}
	return "", nil
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
	case d.Unknown && g.Call.Once():
		return &posthouse.Error{
			Code: posthouse.CodeConflict, Decision: d, Gate: g.ID, Message: "it is not known whether task " + string(g.ID) + " had its effect",
			Hint: "resume the thread: it asks what became of it",
		}
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
	executions, err := l.core.Executions(ctx, head)
	if err != nil {
		return nil, err
	}
	for _, x := range executions {
		failed = append(failed, x.FailedTasks()...)
	}
	return failed, nil
}

// inPlace opens the task at its branch's head, if the branch failed with it. It returns
// nil if the branch has gone on.
func (r *taskRetry) inPlace(ctx context.Context) (*posthouse.Gate, error) {
	l, g := r.l, r.gate
	branch, ok := r.seen.Branch(g.Branch)
	if !ok {
		return nil, nil
	}
	c, err := l.core.ReadCheckpoint(ctx, branch.Head)
	if err != nil {
		return nil, err
	}
	failed, err := FailedTasks(ctx, l, &c.Header)
	if err != nil || !slices.ContainsFunc(failed, func(f *posthouse.Gate) bool { return f.ID == g.ID }) {
		return nil, err
	}
	use, err := r.reopenUse(ctx, &c.Header)
	if err != nil {
		return nil, err
	}
	done, err := l.commitPlan(ctx, &commit.Plan{
		Thread: g.Thread, Branch: g.Branch, Head: &branch.Head, Steps: use, Tail: r.seen.Tail.Seq, Open: commit.OpenGates{KeepAll: true}, Gates: []posthouse.Gate{r.again()},
		Checkpoint: next(c, posthouse.KindWait, posthouse.StatusWaiting, r.opts.By),
	})
	if err != nil {
		return nil, err
	}
	return &done.Gates[0], nil
}

// again returns the gate that takes the place of the failed one.
func (r *taskRetry) again() posthouse.Gate {
	g := r.gate
	again := *g.Clone()
	again.ID, again.Supersedes, again.Decision, again.Origin = "", g.ID, nil, ""
	if !g.ExpiresAt.IsZero() {
		again.ExpiresAt = r.l.Now().Add(g.ExpiresAt.Sub(g.Call.Began))
	}
	call := *g.Call
	call.Attempt, call.Paused, call.NotBefore, call.Began = 1, "", time.Time{}, time.Time{}
	call.Lost = call.Lost || g.Decision.Unknown
	call.Failure = whyFailed(g.Decision)
	again.Call = &call
	return again
}

// reopenUse returns the records of a use of a grant that begins again with its task, nothing
// for a task without a use, or with a use that has not ended.
func (r *taskRetry) reopenUse(ctx context.Context, head *posthouse.Header) (steps []posthouse.Step, err error) {
	g := r.gate
	if g.Call.Grant == "" {
		return nil, nil
	}
	executions, err := r.l.core.Executions(ctx, head)
	if err != nil || executions[g.Task] == nil {
		return nil, err
	}
	x := executions[g.Task]
	have := make([]*posthouse.StepRecord, len(x.Steps))
	for i := range x.Steps {
		have[i] = &x.Steps[i]
	}
	u := effect.Read(g.Call.Use, have, x.Gates)
	if u.HasOpen() {
		return nil, nil
	}
	for _, name := range []string{effect.RecordBegins, effect.RecordParks} {
		steps = append(steps, posthouse.Step{
			Task: g.Task, Name: g.Call.Use + handler.Nested + name, Occurrence: uint32(u.Attempts()), Effect: g.Call.Effect, Grant: g.Call.Grant,
			Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: []byte(`{"error":""}`)},
		})
	}
	return steps, nil
}

// retryBranch begins the names of branches on which a task is retried.
const retryBranch = "retry-"

// onFork opens the task on a fork of the checkpoint that handed it out. The branch is
// named after the gate, so there is one. [posthouse.ErrExists] if there is already.
func (r *taskRetry) onFork(ctx context.Context) (*posthouse.Gate, error) {
	l, g := r.l, r.gate
	if g.Call.Grant != "" {
		return nil, &posthouse.Error{
			Code: posthouse.CodeForbidden, Gate: g.Call.Grant, Decision: g.Decision,
			Message: "task " + string(g.ID) + " acts under a decision that licenses it on branch " + g.Branch + ", which has gone on",
			Hint:    "fork the checkpoint " + string(g.Checkpoint) + " and resume the branch: it proposes the effect again",
		}
	}
	c, err := l.core.ReadCheckpoint(ctx, g.Checkpoint)
	if err != nil {
		return nil, err
	}
	fork := &ForkOptions{Branch: retryBranch + strings.TrimPrefix(string(g.ID), posthouse.GatePrefix), By: r.opts.By}
	p, err := forkDraft(ctx, l.core.Core, c, fork, c.Seq < r.seen.First)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(p.Gates, func(f posthouse.Gate) bool {
		return f.Call != nil && f.Call.ID == g.Call.ID
	})
	if i < 0 {
		return nil, &posthouse.Error{
			Code: posthouse.CodeUnsupported, Head: c.ID, Message: "checkpoint " + string(c.ID) + " does not wait for task " + string(g.ID) + " any more",
			Hint: "replay a checkpoint before it",
		}
	}
	kept := p.Gates[i].Record
	p.Gates[i] = r.again()
	p.Gates[i].Record, p.Gates[i].Branch = kept, fork.Branch
	if err := r.addHandlerSteps(ctx, p, c); err != nil {
		return nil, err
	}
	if r.opts.Fork != nil {
		if err := r.opts.Fork(ctx, g, &p.Gates[i]); err != nil {
			return nil, err
		}
	}
	p.Tail = r.seen.Tail.Seq
	h, err := l.commitFork(ctx, p)
	if err != nil {
		return nil, err
	}
	l.core.Observe.Checkpoint(posthouse.OpForked, h)
	l.core.EnforceCap(ctx)
	return reopenedBy(ctx, l.core.Core, &posthouse.Checkpoint{Header: *h}, g, func(again *posthouse.Gate) bool { return again.Supersedes == g.ID })
}

// addHandlerSteps adds to a fork of a checkpoint the steps that the task's handler recorded
// after it.
func (r *taskRetry) addHandlerSteps(ctx context.Context, p *commit.Plan, c *posthouse.Checkpoint) error {
	g, vault := r.gate, r.l.core.Vault
	prefix := handler.Call(g.Name, g.Occurrence) + handler.Nested
	for e, err := range r.l.core.Logs.InOrder(ctx, g.Thread, posthouse.Range{From: c.Seq + 1, To: g.Decision.Seq}) {
		if err != nil {
			return err
		}
		recs, err := vault.OpenEntry(ctx, e)
		if err != nil {
			return err
		}
		for i := range recs {
			s := recs[i].Step
			if s == nil || s.Branch != g.Branch || s.Task != g.Task || !strings.HasPrefix(s.Name, prefix) || recs[i].Size > 0 && len(e.Bodies[i]) == 0 {
				continue
			}
			result, err := threadlog.ReadStep(e, recs, i)
			if err != nil {
				return err
			}
			p.Steps = append(p.Steps, result.Step)
		}
	}
	return nil
}
