package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/dispatch/internal/sessions"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/taskslot"
	"github.com/posthouse/posthouse/task"
)

// Claim implements [task.Engine].
func (d *Dispatcher) Claim(ctx context.Context, id string) (*task.Claim, error) {
	s, err := d.sessions.FindFor(ctx, id)
	if err != nil {
		return nil, err
	}
	if p := task.PassOf(ctx); p != nil {
		if err := p.Check(&s.Hello); err != nil { // it may allow less than before
			return nil, err
		}
	}
	waiting, leave := s.RegisterWaiter(ctx)
	defer leave()
	over := time.NewTimer(d.opt.Wait)
	defer over.Stop()
	queues := s.Queues()
	for waiting.Err() == nil {
		t, ready, news := d.board.Next(queues, d.core.Now())
		if t == nil {
			if d.await(waiting, queues, ready, news, over.C) {
				continue
			}
			return nil, nil
		}
		c, again, err := d.claim(ctx, s, t)
		err = d.requeue(t, again, err)
		if c != nil || err != nil {
			return c, err
		}
	}
	return nil, context.Cause(waiting)
}

// await waits for news of tasks, for one that is ready at a time, or for the end of the call. It
// reports false when the call has waited for long enough.
func (d *Dispatcher) await(waiting context.Context, queues []board.QueueKey, ready time.Time, news <-chan struct{}, over <-chan time.Time) bool {
	defer d.hints.Request(queues)()
	var due <-chan time.Time
	if !ready.IsZero() {
		due = time.After(max(ready.Sub(d.core.Now()), time.Millisecond))
	}
	select {
	case <-over:
		return false
	case <-news:
	case <-due:
	case <-waiting.Done():
	}
	return true
}

// claim writes the claim of a session into a task's slot. It returns nil for a task that is
// gone, or that another session has: again says when the task is to be tried again, 0 for never.
func (d *Dispatcher) claim(ctx context.Context, s *sessions.Session, t *board.Task) (_ *task.Claim, again time.Duration, err error) {
	g, err := d.claimable(ctx, t)
	if g == nil || err != nil {
		return nil, 0, err
	}
	slot, err := d.slots.Read(ctx, g)
	if err != nil {
		return nil, 0, err
	}
	if slot.IsClaimed(g) {
		again, err := d.checkHolder(ctx, t, g, &slot)
		return nil, again, err
	}
	if slot.Revision != 0 && slot.Gate != g.ID { // a later gate's, if this one has been decided since
		if now, err := d.ledger.Gate(ctx, g.ID); err != nil || now.Decision != nil {
			return nil, 0, err
		}
	}
	worker := s.Name()
	slot.Gate, slot.Session, slot.Worker, slot.Saves = g.ID, s.ID, worker, 0
	slot.Fence = slot.NextFence(g)
	if err := d.slots.Write(ctx, g, &slot); err != nil {
		if claims.IsTaken(err) {
			return nil, d.core.Config.RenewEvery(), nil // another session was faster, and may be gone soon
		}
		return nil, 0, err
	}
	c := d.claims.New(task.ClaimID{Gate: g.ID, Fence: slot.Fence, Session: s.ID}, g)
	if _, err := d.claims.TrackFor(ctx, c); err != nil { // the session has ended since
		return nil, 0, errors.Join(err, d.freeClaim(ctx, c))
	}
	if g.Call.Grant != "" {
		if begun, err := d.beginUse(ctx, c, worker); !begun || err != nil {
			return nil, 0, err
		}
	}
	return answer(c), 0, nil
}

// claimable returns the gate of a task that may be claimed, nil for one that is gone.
func (d *Dispatcher) claimable(ctx context.Context, t *board.Task) (*posthouse.Gate, error) {
	known, err := d.ledger.Gate(ctx, t.Gate)
	if errors.Is(err, posthouse.ErrNotFound) || err == nil && known.Decision != nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if c := known.Call; c == nil || board.KeyOf(c) != t.Queue { // its worker may not handle it
		d.hints.Dead(known.ID, "gate "+string(known.ID)+" has another task or group")
		return nil, nil
	}
	if !known.ExpiresAt.IsZero() && !d.core.Now().Before(known.ExpiresAt) {
		return nil, nil // the runtime decides it
	}
	g, err := d.log.WithGrant(ctx, known)
	if err != nil {
		return nil, err
	}
	if g != known {
		withdrawn, err := d.attempts.withdrawUnnamed(ctx, g)
		if withdrawn || err != nil {
			return nil, err
		}
		return g, nil
	}
	why, err := d.log.WhyWithdraw(ctx, g)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return nil, d.attempts.withdraw(ctx, g, why)
	}
	return g, nil
}

// checkHolder looks whether the session is alive that has the task by its slot. The attempt of a
// silent session fails. The claim of one that is alive is tracked, or again says when to look the
// next time: the worker is at another engine.
func (d *Dispatcher) checkHolder(ctx context.Context, t *board.Task, g *posthouse.Gate, slot *claims.Slot) (again time.Duration, err error) {
	alive, revision, err := d.sessions.IsAlive(ctx, slot.Session)
	if err != nil {
		return 0, err
	}
	if alive {
		if d.claims.TrackSlot(g, slot) {
			return 0, nil
		}
		if t.Probes.IsDue(d.core.Now(), d.lease) {
			d.sessions.Probe(ctx, slot.Session, g.ID)
		}
		return d.core.Config.RenewEvery(), nil
	}
	// The caller is another worker, which may leave in between.
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), d.lease)
	defer end()
	if err := d.attempts.fail(ctx, g, "worker "+slot.Worker+" was silent for "+d.lease.String()); err != nil {
		return 0, err
	}
	d.sessions.EndSilent(ctx, slot.Session, revision)
	return 0, nil
}

// beginUse puts the claim of a task under a grant on record, before its worker hears of it. It
// reports false if the task was withdrawn: the worker gets no claim.
func (d *Dispatcher) beginUse(ctx context.Context, c *claims.Claim, worker string) (bool, error) {
	err := commit.ClaimUse(ctx, d.core, commit.RefOf(c.Gate), WorkerPrefix+worker)
	switch {
	case err == nil:
		return true, nil
	case isOver(err):
		d.claims.Forget(c)
		return false, nil
	}
	return false, errors.Join(err, d.freeClaim(ctx, c)) // no worker has it, even if the claim is on record
}

// answer returns what a worker is told of its claim.
func answer(held *claims.Claim) *task.Claim {
	g, c := held.Gate, held.Gate.Call
	return &task.Claim{
		ID: held.ID, Thread: g.Thread, Step: taskslot.Step(g), Call: c.ID, Key: c.Key, Grant: c.Grant, Task: c.Task, Group: c.Group, Input: g.Payload,
		Attempt: c.Attempt, Iteration: c.Iteration, Continued: c.Continued, Paused: c.Paused, Failure: c.Failure,
		Timeout: c.Limits.Timeout, NoSlot: c.Limits.NoSlot, Metadata: c.Metadata, Trace: c.Trace,
	}
}

// unreadablePause is how long a task waits if its gate or slot is damaged, or encrypted with a
// key that is not at hand.
const unreadablePause = time.Minute

// requeue removes a task from the board after an attempt to claim it, or has it tried again: in
// a time, or after an error. It returns the error unless others can be claimed in spite of it.
func (d *Dispatcher) requeue(t *board.Task, again time.Duration, err error) error {
	now := d.core.Now()
	switch {
	case err == nil && again == 0:
		d.hints.Remove(t)
	case claims.IsUnreadable(err):
		d.opt.Logger.Warn("a task cannot be claimed", "gate", t.Gate, "thread", t.Thread, "error", err)
		if d.board.IsHinted(t) { // the next full poll publishes it again
			d.hints.Remove(t)
		} else {
			d.board.Requeue(t, now.Add(unreadablePause), false)
		}
		return nil
	default:
		d.board.Requeue(t, now.Add(max(again, d.core.Config.RenewEvery())), again > 0)
	}
	return err
}
