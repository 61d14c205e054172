package graph

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// retry returns when a node that failed is tried again.
func (o *NodeOptions) retry() engine.Retry {
	return engine.Retry{RetryPolicy: o.Retry, On: o.RetryOn}
}

// recordAttempt decides whether another attempt or the node's handler follows a failed
// attempt, and puts that on record.
func (t *task) recordAttempt(ctx context.Context, exec *engine.Task, p recorded.Attempts, cause error) (bool, error) {
	r := t.run
	step, err := p.Next(cause, t.node.opt.retry(), t.node.onError != nil, r.app.ledger.Now())
	if step == nil || err != nil {
		return false, err
	}
	step.Task, step.Story = t.key.String(), t.outcome.tale.Failed(r.app.ledger.Now(), cause)
	_, err = r.sess.Commit(ctx, &ledger.Draft{Steps: append(exec.Records().Held(), *step)})
	return err == nil, err
}

// awaitAttempt waits until the next attempt is due. If that is soon it waits itself,
// otherwise it opens a timer gate. It returns taskDone once the attempt is due.
func (t *task) awaitAttempt(ctx context.Context, exec *engine.Task, past recorded.Attempts) (outcomeKind, error) {
	r := t.run
	d := past.Due.Sub(r.app.ledger.Now())
	switch {
	case d <= 0:
		return taskDone, nil
	case d <= r.app.hold:
		come, err := engine.WaitOrDrain(ctx, r.app.ledger, past.Due)
		if err != nil {
			return taskStopped, err
		}
		if !come {
			return taskIdle, nil
		}
		return taskDone, nil
	}
	_, err := exec.Gates().Ask(ctx, posthouse.Gate{
		Name: "$retry-" + strconv.Itoa(past.Count), Kind: posthouse.GateTimer, ExpiresAt: past.Due,
		Text: "the next attempt of node " + t.node.Name,
	})
	if err == nil {
		return taskDone, nil
	}
	if errors.Is(err, posthouse.ErrWaiting) {
		return taskWaits, nil
	}
	return taskStopped, err
}

// Heartbeat reports that a node is alive. NodeOptions.IdleTimeout counts from the last
// heartbeat. Steps, questions and everything a node streams count as heartbeats, too.
// Outside a node it does nothing.
func Heartbeat(ctx context.Context) {
	if t, ok := engine.From(ctx); ok {
		t.Heartbeat()
	}
}

// limits returns the time limits of a task: those it was sent with, or its node's.
func (t *task) limits() engine.Limits {
	o := &t.node.opt
	return engine.Limits{Timeout: cmp.Or(t.Timeout, o.Timeout), IdleTimeout: cmp.Or(t.IdleTimeout, o.IdleTimeout), Whole: t.node.sub != nil}
}

// isBounded reports whether a task, or a node around its graph, has a time limit.
func (t *task) isBounded() bool {
	l := t.limits()
	return t.run.opt.bounded || l.Timeout > 0 || l.IdleTimeout > 0
}
