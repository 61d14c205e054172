package dispatch

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
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
