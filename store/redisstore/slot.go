package redisstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/slotsum"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// A slotValue keeps its revision and fence when its value is deleted.
type slotValue struct {
	posthouse.Slot
	there bool // it has a value
}

// These bytes begin a slot. Format 1 has no checksum; its second byte begins a
// revision, which is never so high, so that no change of one byte makes either format
// the other.
const (
	slotHas     = "S\xff"
	slotDeleted = "D\xff"
	slotHas1    = '1'
	slotGone1   = '0'
)

// encode returns mark, revision, fence, checksum and value.
func (v *slotValue) encode(key posthouse.SlotKey) string {
	b := []byte(slotDeleted)
	if v.there {
		b = []byte(slotHas)
	}
	b = binary.BigEndian.AppendUint64(b, v.Revision)
	b = binary.BigEndian.AppendUint64(b, v.Fence)
	b = binary.BigEndian.AppendUint32(b, slotsum.Of(key, &v.Slot, v.there))
	return string(append(b, v.Value...))
}

// readSlot decodes a slot. "" is one that was never written.
func readSlot(key posthouse.SlotKey, text string) (v slotValue, err error) {
	if text == "" {
		return v, nil
	}
	const size1, size = 1 + 8 + 8, 2 + 8 + 8 + 4
	var rest string
	switch {
	case len(text) >= size && (text[:2] == slotHas || text[:2] == slotDeleted):
		v.there = text[:2] == slotHas
		v.Revision, v.Fence, rest = number64(text[2:10]), number64(text[10:18]), text[size:]
	case len(text) >= size1 && (text[0] == slotHas1 || text[0] == slotGone1) && text[1] != slotHas[1]:
		v.there = text[0] == slotHas1
		v.Revision, v.Fence, rest = number64(text[1:9]), number64(text[9:17]), text[size1:]
	default:
		return slotValue{}, posthouse.Corrupt("slot %q of thread %q is cut off or damaged", key.Step, key.Thread)
	}
	if len(rest) > 0 {
		v.Value = []byte(rest)
	}
	if text[1] == slotHas[1] && binary.BigEndian.Uint32([]byte(text[18:])) != slotsum.Of(key, &v.Slot, v.there) {
		return slotValue{}, posthouse.Corrupt("slot %q of thread %q does not have its checksum", key.Step, key.Thread)
	}
	return v, nil
}

// Slot implements [posthouse.Store]. A write reads the slot first and then depends on what
// it has read. It is not repeated if the connection is lost: [posthouse.ErrUnknown].
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
	for {
		m, err := s.do(ctx, doing, "HGET", s.prefix+"slots:"+key.Thread, key.Step)
		if op.Verb == posthouse.SlotGet {
			err = away.Read(err)
		}
		if err != nil {
			return posthouse.Slot{}, err
		}
		text, _ := m.Text()
		have, err := readSlot(key, text)
		switch {
		case err != nil:
			return posthouse.Slot{}, err
		case op.Verb == posthouse.SlotGet && !have.there:
			return posthouse.Slot{}, posthouse.NotFound(fmt.Sprintf("slot %q of thread", key.Step), key.Thread)
		case op.Verb == posthouse.SlotGet:
			return have.Slot, nil
		}
		if err := op.Admits(key, have.Slot, have.there); err != nil {
			return posthouse.Slot{}, err
		}
		next := slotValue{posthouse.Slot{Revision: have.Revision, Fence: max(have.Fence, op.Fence)}, false}
		if op.Verb == posthouse.SlotPut {
			next.Revision++
			next.Value, next.there = bytes.Clone(op.Value), true
		}
		if done, err := s.changeSlot(ctx, doing, key, text, next.encode(key)); err != nil || done {
			return next.Slot, err
		}
	}
}

// changeSlot reports false if the slot is not as it was read any more.
func (s *Store) changeSlot(ctx context.Context, doing string, key posthouse.SlotKey, old, new string) (bool, error) {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return false, err
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout)
	defer cancel()
	n, err := s.count(within, slotScript, key.Thread, key.Step, old, new)
	return n == 1, s.wrap(doing, err)
}

// Slots implements [posthouse.SlotLister].
func (s *Store) Slots(ctx context.Context, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	return func(yield func(*posthouse.SlotItem, error) bool) {
		at := "-"
		for item, err := range pages(0, func(int) (page []*posthouse.SlotItem, more bool, err error) {
			if thread != "" {
				page, err = s.slotsOf(ctx, thread)
				return page, false, err
			}
			m, err := s.get(ctx, "list slots", "ZRANGEBYLEX", s.prefix+"slotted", at, "+", "LIMIT", "0", "1")
			if err != nil {
				return nil, false, err
			}
			names, err := m.Texts()
			if err != nil || len(names) == 0 {
				return nil, false, s.wrap("list slots", err)
			}
			at = "(" + names[0]
			page, err = s.slotsOf(ctx, names[0])
			return page, true, err
		}) {
			if !yield(item, err) {
				return
			}
		}
	}
}

// slotsOf returns the slots of one thread.
func (s *Store) slotsOf(ctx context.Context, thread string) (items []*posthouse.SlotItem, err error) {
	m, err := s.get(ctx, "list slots", "HGETALL", s.prefix+"slots:"+thread)
	if err != nil {
		return nil, err
	}
	steps, err := m.Map()
	if err != nil {
		return nil, s.wrap("list slots", err)
	}
	for step, text := range steps {
		key := posthouse.SlotKey{Thread: thread, Step: step}
		have, err := readSlot(key, text)
		if err != nil {
			return nil, err
		}
		if have.there {
			items = append(items, &posthouse.SlotItem{Key: key, Slot: have.Slot})
		}
	}
	slices.SortFunc(items, func(a, b *posthouse.SlotItem) int { return strings.Compare(a.Key.Step, b.Key.Step) })
	return items, nil
}
