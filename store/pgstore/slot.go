package pgstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/slotsum"
	"github.com/posthouse/posthouse/store/internal/valid"
	"github.com/posthouse/posthouse/store/pgstore/internal/paging"
)

const (
	selectSlot = "SELECT revision, fence, value, sum FROM posthouse.slots WHERE thread = $1 AND step = $2"
	insertSlot = `INSERT INTO posthouse.slots (thread, step, revision, fence, value, sum)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`
	updateSlot = `UPDATE posthouse.slots SET revision = $3, fence = $4, value = $5, sum = $6
		WHERE thread = $1 AND step = $2 AND revision = $7 AND fence = $8 AND (value IS NULL) = $9`
	// updateSameSlot compares all columns with what was read: damage is not overwritten.
	updateSameSlot = updateSlot + " AND value IS NOT DISTINCT FROM $10 AND sum IS NOT DISTINCT FROM $11"
	selectSlots    = `SELECT thread, step, revision, fence, value, sum FROM posthouse.slots
		WHERE (thread, step) > ($1, $2) AND ($3 OR thread = $4) AND value IS NOT NULL ORDER BY thread, step LIMIT 16`
)

// A slotRow keeps its revision and fence when its value is deleted.
type slotRow struct {
	posthouse.Slot
	row   bool // there is a row
	there bool // it has a value
	sum   []byte
}

// maxRemembered is how many bytes a slot has at most that is remembered.
const maxRemembered = 4096

// remember keeps a slot as it is now, for a write that need not read it again.
func (s *Store) remember(key posthouse.SlotKey, have slotRow) {
	if len(have.Value) <= maxRemembered {
		have.Value = bytes.Clone(have.Value)
		s.slots.Put(key, have)
	}
}

// Slot implements [posthouse.Store]. A write reads the slot first, unless this store has just
// done so, and then depends on what it has read.
func (s *Store) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	usable := s.lifecycle.Usable
	if op.Verb != posthouse.SlotGet {
		usable = s.lifecycle.Writable
	}
	if err := usable(ctx); err != nil {
		return posthouse.Slot{}, err
	}
	if err := valid.Slot(key, &op); err != nil {
		return posthouse.Slot{}, err
	}
	doing := fmt.Sprintf("use slot %q of thread %q", key.Step, key.Thread)
	if have, ok := s.slots.Take(key); ok && op.Verb != posthouse.SlotGet && op.Admits(key, have.Slot, have.there) == nil {
		next, done, err := s.changeSlot(ctx, doing, key, &op, have, updateSameSlot)
		if err != nil || done {
			return next, err
		}
	}
	for {
		var have slotRow
		err := s.repeat(ctx, doing, func(ctx context.Context, c *conn) (err error) {
			have, err = c.slot(ctx, key)
			return err
		})
		switch {
		case err != nil && op.Verb == posthouse.SlotGet:
			return posthouse.Slot{}, away.Read(err)
		case err != nil:
			return posthouse.Slot{}, err
		case op.Verb == posthouse.SlotGet:
			s.remember(key, have)
			if !have.there {
				return posthouse.Slot{}, posthouse.NotFound(fmt.Sprintf("slot %q of thread", key.Step), key.Thread)
			}
			return have.Slot, nil
		}
		if err := op.Admits(key, have.Slot, have.there); err != nil {
			return posthouse.Slot{}, err
		}
		next, done, err := s.changeSlot(ctx, doing, key, &op, have, updateSlot)
		if err != nil || done {
			return next, err
		}
	}
}

func (c *conn) slot(ctx context.Context, key posthouse.SlotKey) (have slotRow, err error) {
	var revision, fence int64
	have.row, err = c.one(ctx, selectSlot, []any{[]byte(key.Thread), []byte(key.Step)}, &revision, &fence, &have.Value, &have.sum)
	have.Revision, have.Fence, have.there = uint64(revision), uint64(fence), have.Value != nil
	if err == nil {
		err = checkSlot(key, &have.Slot, have.there, have.sum)
	}
	return have, err
}

// checkSlot compares a slot with its checksum. A slot last written before there were
// checksums is taken as it is.
func checkSlot(key posthouse.SlotKey, slot *posthouse.Slot, there bool, sum []byte) error {
	if sum == nil || bytes.Equal(sum, slotSum(key, slot, there)) {
		return nil
	}
	return posthouse.Corrupt("slot %q of thread %q does not have its checksum", key.Step, key.Thread)
}

func slotSum(key posthouse.SlotKey, slot *posthouse.Slot, there bool) []byte {
	return binary.BigEndian.AppendUint32(nil, slotsum.Of(key, slot, there))
}

// changeSlot writes what op makes of the slot. It reports false if the slot changed since
// it was read. It does not repeat a write that lost its connection: the write may have
// been done.
func (s *Store) changeSlot(ctx context.Context, doing string, key posthouse.SlotKey, op *posthouse.SlotOp, have slotRow, update string) (next posthouse.Slot, done bool, err error) {
	next = posthouse.Slot{Revision: have.Revision, Fence: max(have.Fence, op.Fence)}
	var value []byte // nil is NULL, which marks a deleted value
	if op.Verb == posthouse.SlotPut {
		next.Revision++
		next.Value, value = bytes.Clone(op.Value), orEmpty(op.Value)
	}
	sum := slotSum(key, &next, value != nil)
	args := []any{[]byte(key.Thread), []byte(key.Step), int64(next.Revision), int64(next.Fence), value, sum}
	sql := insertSlot
	if have.row {
		sql = update
		args = append(args, int64(have.Revision), int64(have.Fence), !have.there)
		if sql == updateSameSlot {
			args = append(args, have.Value, have.sum)
		}
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout)
	defer cancel()
	err = s.lend(within, doing, func(ctx context.Context, c *conn) error {
		tag, err := c.Exec(ctx, s.sql(sql), args...)
		done = tag.RowsAffected() == 1
		return err
	})
	err = s.overdue(doing, err)
	if err != nil {
		s.poison(err)
		return posthouse.Slot{}, false, err
	}
	if done {
		s.remember(key, slotRow{posthouse.Slot{Value: value, Revision: next.Revision, Fence: next.Fence}, true, value != nil, sum})
	}
	return next, done, nil
}

// Slots implements [posthouse.SlotLister].
func (s *Store) Slots(ctx context.Context, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	return func(yield func(*posthouse.SlotItem, error) bool) {
		at := posthouse.SlotKey{Thread: thread}
		for item, err := range paging.All(0, func(int) (page []*posthouse.SlotItem, more bool, err error) {
			err = s.read(ctx, "list slots", func(ctx context.Context, c *conn) error {
				page = nil
				args := []any{[]byte(at.Thread), []byte(at.Step), thread == "", []byte(thread)}
				return c.each(ctx, selectSlots, args, func(rows pgx.Rows) error {
					var name, step []byte
					var revision, fence int64
					var sum []byte
					item := &posthouse.SlotItem{}
					err := rows.Scan(&name, &step, &revision, &fence, &item.Value, &sum)
					item.Key = posthouse.SlotKey{Thread: string(name), Step: string(step)}
					item.Revision, item.Fence = uint64(revision), uint64(fence)
					if len(item.Value) == 0 {
						item.Value = nil
					}
					page = append(page, item)
					return cmp.Or(err, checkSlot(item.Key, &item.Slot, true, sum))
				})
			})
			if len(page) > 0 {
				at = page[len(page)-1].Key
			}
			return page, len(page) > 0, err
		}) {
			if !yield(item, err) {
				return
			}
		}
	}
}
