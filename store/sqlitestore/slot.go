package sqlitestore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/slotsum"
	"github.com/posthouse/posthouse/store/internal/valid"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// Slot implements [posthouse.Store].
func (s *Store) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (slot posthouse.Slot, err error) {
	doing := fmt.Sprintf("use slot %q of thread %q", key.Step, key.Thread)
	err = valid.Slot(key, &op)
	if err != nil {
		return slot, err
	}
	if op.Verb == posthouse.SlotGet {
		err = s.read(ctx, doing, func(c *db.Conn) error {
			have, err := slotAt(c, key)
			if err == nil && !have.there {
				err = posthouse.NotFound(fmt.Sprintf("slot %q of thread", key.Step), key.Thread)
			}
			slot = have.Slot
			return err
		})
	} else {
		err = s.submit(ctx, doing, request{do: func(w *writer) (err error) {
			slot, err = w.changeSlot(key, op)
			return err
		}})
	}
	if err != nil {
		return posthouse.Slot{}, err
	}
	if op.Verb == posthouse.SlotDelete {
		s.folding.removed(ctx) // it may have been the key of what was encrypted
	}
	return slot, nil
}

// Slots implements [posthouse.SlotLister].
func (s *Store) Slots(ctx context.Context, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	return func(yield func(*posthouse.SlotItem, error) bool) {
		at := posthouse.SlotKey{Thread: thread}
		if thread == "" {
			at.Thread = "\x00" // sorts after the store's own numbers
		}
		next := func(c *db.Conn, p *db.Page[*posthouse.SlotItem]) (bool, error) {
			for stmt, err := range c.Rows(qSlots, at.Thread, at.Step) {
				if err != nil || thread != "" && stmt.ColumnText(0) != thread {
					return false, err
				}
				if p.Full() {
					return true, nil
				}
				was := at
				at = posthouse.SlotKey{Thread: stmt.ColumnText(0), Step: stmt.ColumnText(1)}
				if cmp.Or(strings.Compare(at.Thread, was.Thread), strings.Compare(at.Step, was.Step)) <= 0 {
					return false, layout.OutOfOrder("slots")
				}
				slot := posthouse.Slot{Value: db.Bytes(stmt, 2), Revision: uint64(stmt.ColumnInt64(3)), Fence: uint64(stmt.ColumnInt64(4))}
				if err := checkSum(stmt, 5, at, &slot, true); err != nil {
					return false, err
				}
				p.Add(&posthouse.SlotItem{Key: at, Slot: slot}, len(slot.Value))
			}
			return false, nil
		}
		for item, err := range db.Pages(ctx, s.read, "list slots", 0, next) {
			if !yield(item, err) {
				return
			}
		}
	}
}

// A slotRow keeps its revision and fence when its value is deleted.
type slotRow struct {
	posthouse.Slot
	there bool
}

func slotAt(c *db.Conn, key posthouse.SlotKey) (have slotRow, err error) {
	var damaged error
	_, err = c.Row(qSlot, func(stmt *sqlite.Stmt) {
		have.there = !stmt.ColumnIsNull(0)
		have.Value = db.Bytes(stmt, 0)
		have.Revision, have.Fence = uint64(stmt.ColumnInt64(1)), uint64(stmt.ColumnInt64(2))
		damaged = checkSum(stmt, 3, key, &have.Slot, have.there)
	}, key.Thread, key.Step)
	return have, cmp.Or(err, damaged)
}

// checkSum compares a slot with the checksum in a column. One without was written by an
// earlier version.
func checkSum(stmt *sqlite.Stmt, column int, key posthouse.SlotKey, slot *posthouse.Slot, there bool) error {
	if stmt.ColumnIsNull(column) || stmt.ColumnInt64(column) == int64(slotsum.Of(key, slot, there)) {
		return nil
	}
	return posthouse.Corrupt("slot %q of thread %q is not what its checksum says", key.Step, key.Thread)
}

func (w *writer) changeSlot(key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	have, err := slotAt(w.Conn, key)
	if err == nil {
		err = op.Admits(key, have.Slot, have.there)
	}
	if err != nil {
		return posthouse.Slot{}, err
	}
	w.wrote = true
	have.Fence = max(have.Fence, op.Fence)
	have.Value = nil
	var value []byte // nil is NULL, which marks a deleted value
	if op.Verb == posthouse.SlotPut {
		have.Value = bytes.Clone(op.Value)
		have.Revision++
		value = append([]byte{}, op.Value...)
	}
	sum := slotsum.Of(key, &have.Slot, op.Verb == posthouse.SlotPut)
	return have.Slot, w.Run(qPutSlot, key.Thread, key.Step, have.Revision, have.Fence, value, int64(sum))
}
