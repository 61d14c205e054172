package s3store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// slotKey is where a slot is: an object of its own, which is written on the condition that
// it is as it was read. A name is in hexadecimal, a long one hashed.
func (s *Store) slotKey(key posthouse.SlotKey) string {
	return s.slotDir(key.Thread) + slotName(key.Step)
}

func (s *Store) slotDir(thread string) string { return s.prefix + "slots/" + slotName(thread) + "/" }

func slotName(name string) string {
	if len(name) > 150 {
		sum := sha256.Sum256([]byte(name))
		return "~" + hex.EncodeToString(sum[:])
	}
	return hex.EncodeToString([]byte(name))
}

// A slot is a slot as its object has it.
type slot struct {
	framelog.Slot
	value []byte
	tag   string // of the object; "" if there is none
}

func (s *slot) content() posthouse.Slot {
	return posthouse.Slot{Value: bytes.Clone(s.value), Revision: s.Revision, Fence: s.Fence}
}

// Slot implements [posthouse.Store]. A read is one request, a write two.
func (s *Store) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if err := valid.Slot(key, &op); err != nil {
		return posthouse.Slot{}, err
	}
	doing := fmt.Sprintf("use slot %q of thread %q", key.Step, key.Thread)
	if op.Verb != posthouse.SlotGet {
		if err := s.lifecycle.Writable(ctx); err != nil {
			return posthouse.Slot{}, err
		}
		return s.writeSlot(context.WithoutCancel(ctx), doing, key, op)
	}
	have, err := s.readSlot(ctx, doing, s.slotKey(key))
	if err == nil && !have.There {
		err = posthouse.NotFound(fmt.Sprintf("slot %q of thread", key.Step), key.Thread)
	}
	if err == nil && have.Key != key {
		err = s.corrupt(s.slotKey(key), "it is another slot")
	}
	if err != nil {
		return posthouse.Slot{}, away.Read(err)
	}
	return have.content(), nil
}

// readSlot reads the slot at a key, an empty one if there is none.
func (s *Store) readSlot(ctx context.Context, doing, at string) (*slot, error) {
	o, err := s.get(ctx, doing, at, 0, 0)
	if errors.Is(err, errAbsent) {
		return &slot{}, nil
	}
	if err != nil {
		return nil, err
	}
	have := &slot{tag: o.tag}
	f, err := framelog.Parse(o.data, true)
	if err == nil {
		err = have.Read(f.Head)
	}
	if err == nil && (f.Size() != int64(len(o.data)) || s.slotKey(have.Key) != at) {
		err = errors.New("it is another slot, or has more than one")
	}
	if err != nil {
		return nil, s.corrupt(at, "%w", err)
	}
	have.value = f.Body
	return have, nil
}

// writeSlot writes what follows from what is there, until nobody comes in between.
func (s *Store) writeSlot(ctx context.Context, doing string, key posthouse.SlotKey, op posthouse.SlotOp) (none posthouse.Slot, err error) {
	at := s.slotKey(key)
	within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	for wait := newRetries(); ; {
		have, err := s.readSlot(ctx, doing, at)
		if err != nil {
			return none, err
		}
		if err := op.Admits(key, have.content(), have.There); err != nil {
			return none, err
		}
		next := &slot{Slot: have.Slot}
		next.Key, next.Commit, next.Fence, next.There = key, number(), max(have.Fence, op.Fence), op.Verb == posthouse.SlotPut
		if next.There {
			next.Revision, next.value = have.Revision+1, op.Value
		}
		if have.tag == "" && !next.There && next.Fence == 0 {
			return none, nil // nothing to remember
		}
		done, lost, err := s.swapSlot(ctx, doing, at, have, next)
		switch {
		case done:
			return next.content(), nil
		case err != nil:
			return none, err
		case lost:
			return none, s.unsure(errors.New("an answer was lost, and the slot has changed since"))
		case !wait.Next(within):
			return none, s.unsure(within.Err())
		}
	}
}

// swapSlot writes next in the place of have. If it did not, lost says that it may have, and
// that the slot has changed since.
func (s *Store) swapSlot(ctx context.Context, doing, at string, have, next *slot) (done, lost bool, err error) {
	data := next.Append(nil, next.value)
	tries := 0
	err = s.settle(ctx, doing, func(ctx context.Context) error {
		tries++
		_, err := s.bucket.put(ctx, at, data, have.tag)
		return err
	})
	if !errors.Is(err, errTaken) {
		return err == nil, false, err
	}
	now, err := s.readSlot(ctx, doing, at) // perhaps an attempt of ours did it
	if err != nil {
		return false, false, s.unsure(err)
	}
	return now.Commit == next.Commit, tries > 1, nil
}

// number tells one write of a slot from another.
func number() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return binary.LittleEndian.Uint64(b[:])
}

// removeSlots deletes the slots of a thread.
func (s *Store) removeSlots(ctx context.Context, thread string) error {
	keys, err := s.list(ctx, "list slots", strings.TrimPrefix(s.slotDir(thread), s.prefix), "", 0)
	if err != nil {
		return err
	}
	return each(len(keys), func(i int) error { return s.remove(ctx, "remove a slot", keys[i]) })
}

// Slots implements [posthouse.SlotLister].
func (s *Store) Slots(ctx context.Context, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	return away.Reads(func(yield func(*posthouse.SlotItem, error) bool) {
		items, err := s.slotsOf(ctx, thread)
		for _, item := range items {
			have, err := s.readSlot(ctx, "read slots", s.slotKey(item))
			if err == nil && !have.There {
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&posthouse.SlotItem{Key: have.Key, Slot: have.content()}, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	})
}

// slotsOf returns the keys of slots, sorted.
func (s *Store) slotsOf(ctx context.Context, thread string) (found []posthouse.SlotKey, err error) {
	prefix := "slots/"
	if thread != "" {
		prefix = strings.TrimPrefix(s.slotDir(thread), s.prefix)
	}
	keys, err := s.list(ctx, "list slots", prefix, "", 0)
	for _, at := range keys {
		names := strings.Split(strings.TrimPrefix(at, s.prefix), "/")
		name, nerr := hex.DecodeString(names[1])
		step, serr := hex.DecodeString(names[len(names)-1])
		key := posthouse.SlotKey{Thread: string(name), Step: string(step)}
		if nerr != nil || serr != nil { // a hashed name
			have, err := s.readSlot(ctx, "read slots", at)
			if err != nil {
				return found, err
			}
			if key = have.Key; !have.There {
				continue
			}
		}
		found = append(found, key)
	}
	slices.SortFunc(found, func(a, b posthouse.SlotKey) int {
		return cmp.Or(strings.Compare(a.Thread, b.Thread), strings.Compare(a.Step, b.Step))
	})
	return found, err
}
