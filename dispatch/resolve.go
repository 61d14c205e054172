package dispatch

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/dispatch/internal/tasklog"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
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
	if v.Action == task.Abandon {
		return d.releaseClaim(ctx, c)
	}
	if v.Action == task.Complete {
		if err := d.checkOutput(ctx, c, slot.Worker, v.Output); err != nil {
			if isOver(err) {
				d.claims.Forget(c)
				return d.attempts.checkRepeated(ctx, id, &v)
			}
			return err
		}
	}
	v.NotDone, err = d.saysNotDone(ctx, c, v.NotDone)
	if err != nil {
		return err
	}
	o := outcome(c.Gate.Call, slot.Worker, &v, d.core.Now())
	o.Began, o.Notes = c.Since(), v.Notes
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

// maxReplies bounds the replies of a claim that are kept because they do not fit.
const maxReplies = 10

// checkOutput refuses an output that the program of a task does not take, as far as this process
// knows that. The reply is on record then: its worker may have acted.
func (d *Dispatcher) checkOutput(ctx context.Context, c *claims.Claim, worker string, output []byte) error {
	why, refused := d.core.Outputs.Check(c.Gate, output)
	if refused == nil || !c.Refuse(output, maxReplies) {
		return refused
	}
	r := effect.NewReply(c.Gate, WorkerPrefix+worker, output, why)
	if err := commit.KeepReply(ctx, d.core, commit.RefOf(c.Gate), tasklog.Within(c.Gate), r); err != nil {
		c.Unrefuse()
		return err
	}
	return refused
}

// notDoneFrom is the first protocol in which a worker says that an effect did not happen.
const notDoneFrom = 3

// saysNotDone reports whether a worker's word that an effect did not happen counts: of a protocol
// before 3 it does not, and neither does that of a session that is not known any more.
func (d *Dispatcher) saysNotDone(ctx context.Context, c *claims.Claim, word bool) (bool, error) {
	if !word {
		return false, nil
	}
	s, err := d.sessions.Find(ctx, c.ID.Session)
	if errors.Is(err, posthouse.ErrNotFound) {
		return false, nil
	}
	return err == nil && s.Hello.Protocol >= notDoneFrom, err
}
