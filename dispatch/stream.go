package dispatch

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/taskslot"
	"github.com/posthouse/posthouse/task"
)

// Stream implements [task.Engine].
func (d *Dispatcher) Stream(ctx context.Context, id task.ClaimID, chunk json.RawMessage) error {
	if len(chunk) > task.MaxChunk {
		return posthouse.TooLarge("chunk", len(chunk), task.MaxChunk)
	}
	c, _, err := d.claims.Find(ctx, id)
	if err != nil {
		return err
	}
	if d.opt.Stream != nil {
		d.opt.Stream(ctx, c.Gate.Thread, taskslot.Step(c.Gate), chunk)
	}
	return nil
}
