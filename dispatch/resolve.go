package dispatch

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
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
