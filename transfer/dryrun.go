package transfer

import (
	"context"

	"github.com/posthouse/posthouse"
)

// unwritten is a store that takes writes and does not keep them. It has the methods of the contract
// alone: what a store has beside them may write, too.
type unwritten struct{ posthouse.Store }

func (u unwritten) Append(ctx context.Context, _ *posthouse.Batch) error { return ctx.Err() }

func (u unwritten) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb == posthouse.SlotGet {
		return u.Store.Slot(ctx, key, op)
	}
	return posthouse.Slot{}, ctx.Err()
}

func (u unwritten) Remove(ctx context.Context, _ posthouse.Removal) (posthouse.Removed, error) {
	return posthouse.Removed{}, ctx.Err()
}
