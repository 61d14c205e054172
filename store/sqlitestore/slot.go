package sqlitestore

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/posthouse/posthouse"
)

// maxSlot is the largest value of a slot, in bytes.
const maxSlot = 1 << 20

// Slot implements [posthouse.Store].
func (s *Store) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (slot posthouse.Slot, err error) {
	doing := fmt.Sprintf("use slot %q of thread %q", key.Step, key.Thread)
	if len(op.Value) > maxSlot {
		return slot, &posthouse.Error{
			Code: posthouse.CodeTooLarge, Field: "value",
			Message: fmt.Sprintf("of a slot is %d bytes; the limit is %d", len(op.Value), maxSlot),
		}
	}
	if key.Thread == "" || key.Step == "" {
		return slot, invalid("slot", "has no thread or no step")
	}
	switch op.Verb {
	case posthouse.SlotGet:
		err = s.read(ctx, doing, func(c *conn) error {
			have, err := c.slot(key)
			if err == nil && !have.there {
				err = notFound("slot %q of thread %q", key.Step, key.Thread)
			}
			slot = have.Slot
			return err
		})
	case posthouse.SlotPut, posthouse.SlotDelete:
		err = s.submit(ctx, doing, request{do: func(w *writer) (err error) {
			slot, err = w.changeSlot(key, op)
			return err
		}})
	default:
		err = invalid("verb", "%d is not known", op.Verb)
	}
	if err != nil {
		return posthouse.Slot{}, err
	}
	return slot, nil
}

// Slots implements [posthouse.SlotLister].
func (s *Store) Slots(ctx context.Context, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	return func(yield func(*posthouse.SlotItem, error) bool) {
		at := posthouse.SlotKey{Thread: thread}
		if thread == "" {
			at.Thread = "\x00" // behind the store's own numbers
		}
		next := func(c *conn, p *page[*posthouse.SlotItem]) (bool, error) {
			stmt, err := c.stmt(qSlots)
			if err != nil {
				return false, err
			}
			stmt.BindText(1, at.Thread)
			stmt.BindText(2, at.Step)
			for {
				row, err := stmt.Step()
				if err != nil {
					return false, err
				}
				if !row || thread != "" && stmt.ColumnText(0) != thread {
					return false, stmt.Reset()
				}
				if p.full() {
					return true, stmt.Reset()
				}
				at = posthouse.SlotKey{Thread: stmt.ColumnText(0), Step: stmt.ColumnText(1)}
				slot := posthouse.Slot{Value: columnBytes(stmt, 2), Revision: uint64(stmt.ColumnInt64(3)), Fence: uint64(stmt.ColumnInt64(4))}
				p.add(&posthouse.SlotItem{Key: at, Slot: slot}, len(slot.Value))
			}
		}
		for item, err := range pages(ctx, s, "list slots", 0, next) {
			if !yield(item, err) {
				return
			}
		}
	}
}

// A slotRow stays when its value is deleted, so that revisions go on and
// fences hold.
type slotRow struct {
	posthouse.Slot
	there bool
}

func (c *conn) slot(key posthouse.SlotKey) (have slotRow, err error) {
	stmt, err := c.stmt(qSlot)
	if err != nil {
		return have, err
	}
	stmt.BindText(1, key.Thread)
	stmt.BindText(2, key.Step)
	row, err := stmt.Step()
	if row {
		have.there = !stmt.ColumnIsNull(0)
		have.Value = columnBytes(stmt, 0)
		have.Revision, have.Fence = uint64(stmt.ColumnInt64(1)), uint64(stmt.ColumnInt64(2))
	}
	return have, first(err, stmt.Reset())
}

func (w *writer) changeSlot(key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	have, err := w.slot(key)
	if err == nil {
		err = op.Admits(key, have.Slot, have.there)
	}
	if err != nil {
		return posthouse.Slot{}, err
	}
	w.wrote = true
	have.Fence = max(have.Fence, op.Fence)
	have.Value, have.there = nil, op.Verb == posthouse.SlotPut
	if have.there {
		have.Value = bytes.Clone(op.Value)
		have.Revision++
	}
	return w.putSlot(key, have)
}

func (w *writer) putSlot(key posthouse.SlotKey, have slotRow) (posthouse.Slot, error) {
	stmt, err := w.stmt(qPutSlot)
	if err != nil {
		return posthouse.Slot{}, err
	}
	stmt.BindText(1, key.Thread)
	stmt.BindText(2, key.Step)
	stmt.BindInt64(3, int64(have.Revision))
	stmt.BindInt64(4, int64(have.Fence))
	if have.there {
		stmt.BindBytes(5, have.Value)
	} else {
		stmt.BindNull(5)
	}
	return have.Slot, exec(stmt)
}
