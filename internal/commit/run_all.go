package commit

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// RunAll appends plans of one thread, each after the one before, as one group where the
// store can. They are on record when it returns nil.
func RunAll(ctx context.Context, c *Committer, ds []*Plan) error {
	if len(ds) == 0 {
		return nil
	}
	for _, d := range ds {
		if err := d.Validate(); err != nil {
			return err
		}
		d.TrySchemas(c.Rules)
	}
	t, err := c.Lock(ds[0].Thread)
	if err != nil {
		return err
	}
	defer c.Unlock(t)
	for range core.MaxRetries {
		var again bool
		again, err = writeAll(ctx, c, t, ds)
		if !again {
			return err
		}
	}
	return err
}

// writeAll builds the entries of plans, each after the one before, and appends them as
// a group. again says that others have appended since, so that all must be rebuilt.
// Callers hold t.mu.
func writeAll(ctx context.Context, c *Committer, t *core.Thread, ds []*Plan) (again bool, err error) {
	if err := c.Load(ctx, t); err != nil {
		return false, err
	}
	known := t.Info.Tail
	made, batches := make([]*core.Tx, 0, len(ds)), make([]*posthouse.Batch, 0, len(ds))
	for _, d := range ds {
		tx := c.NewTx(ctx, t)
		_, err = Write(tx, c.Rules, d)
		if err == nil {
			err = tx.Seal(t)
		}
		if err != nil {
			break
		}
		tx.Apply(t) // for the next one; invalidated if the group fails
		made, batches = append(made, tx), append(batches, &tx.Batch)
	}
	refused := err
	if err == nil {
		err = core.PutEntries(ctx, c.Store, batches)
		if err == nil {
			for _, a := range made {
				a.Recycle()
			}
			return false, nil
		}
	}
	for _, a := range made {
		if a.Claim != nil {
			a.Claim.Recorded = false
		}
	}
	t.Invalidate()
	if refused == nil {
		return errors.Is(err, posthouse.ErrConflict), err
	}
	e := c.Load(ctx, t)
	return e == nil && t.Info.Tail != known, refused
}
