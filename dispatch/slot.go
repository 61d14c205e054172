package dispatch

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/taskslot"
)

// A record is what a task's slot holds.
type record = taskslot.Record

// readSlot returns a task's slot, an empty record for one that is not there or is another
// call's.
func (d *Dispatcher) readSlot(ctx context.Context, g *posthouse.Gate) (record, posthouse.Slot, error) {
	empty := record{Call: g.Call.ID}
	slot, err := d.core.Store.Slot(ctx, taskslot.Key(g), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return empty, posthouse.Slot{}, nil
	}
	if err != nil {
		return empty, slot, err
	}
	var r record
	if err := r.Decode(slot.Value); err != nil {
		return empty, slot, posthouse.Corrupt("slot %q of thread %q is not a task's: %v", taskslot.Step(g), g.Thread, err)
	}
	if r.Call != g.Call.ID {
		r = empty
	}
	if r.Sealed > 0 && r.Value != nil {
		if r.Value, err = core.OpenSlot(ctx, d.core, core.DataKeyOf{Thread: g.Thread, Generation: r.Sealed}, taskslot.Step(g), r.Value); err != nil {
			return empty, slot, err
		}
	}
	r.Revision = slot.Revision
	return r, slot, nil
}

// isUnreadable reports whether an error says that stored bytes are damaged, or that their key
// is not at hand: another look would find the same.
func isUnreadable(err error) bool {
	return errors.Is(err, posthouse.ErrCorrupt) || errors.Is(err, posthouse.ErrSealed)
}

// writeSlot writes a task's slot under a fence, on the expected revision.
func (d *Dispatcher) writeSlot(ctx context.Context, g *posthouse.Gate, r *record, revision, fence uint64) (posthouse.Slot, error) {
	kept := *r
	if r.Sealed > 0 && r.Value != nil {
		var err error
		if kept.Value, err = core.SealSlot(ctx, d.core, core.DataKeyOf{Thread: g.Thread, Generation: r.Sealed}, taskslot.Step(g), r.Value); err != nil {
			return posthouse.Slot{}, err
		}
	}
	value, err := kept.Encode()
	if err != nil {
		return posthouse.Slot{}, err
	}
	return d.core.Store.Slot(ctx, taskslot.Key(g), posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: revision, Fence: fence})
}
