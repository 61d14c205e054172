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

// slots are those of all threads, each an object.
type slots struct{ objects *objects }

// key is where a slot is: an object of its own, which is written on the condition that
// it is as it was read. A name is in hexadecimal, a long one hashed.
func (s *slots) key(key posthouse.SlotKey) string {
	return s.dir(key.Thread) + slotName(key.Step)
}

// dir is where the slots of a thread are.
func (s *slots) dir(thread string) string {
	return s.objects.prefix + "slots/" + slotName(thread) + "/"
}

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
	tag   string // of the object; "" if it does not exist
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
		return s.slots.write(context.WithoutCancel(ctx), doing, key, op)
	}
	have, err := s.slots.read(ctx, doing, s.slots.key(key))
	if err == nil && !have.There {
		err = posthouse.NotFound(fmt.Sprintf("slot %q of thread", key.Step), key.Thread)
	}
	if err == nil && have.Key != key {
		err = s.objects.corrupt(s.slots.key(key), "it is another slot")
	}
	if err != nil {
		return posthouse.Slot{}, away.Read(err)
	}
	return have.content(), nil
}

// read reads the slot at a key. It returns an empty one if the object does not exist.
func (s *slots) read(ctx context.Context, doing, at string) (*slot, error) {
	o, err := s.objects.get(ctx, doing, at, 0, 0)
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
	if err == nil && (f.Size() != int64(len(o.data)) || s.key(have.Key) != at) {
		err = errors.New("it is another slot, or has more than one")
	}
	if err != nil {
		return nil, s.objects.corrupt(at, "%w", err)
	}
	have.value = f.Body
	return have, nil
}

// write applies op to the slot that is there, again until no other writer comes in
// between.
func (s *slots) write(ctx context.Context, doing string, key posthouse.SlotKey, op posthouse.SlotOp) (none posthouse.Slot, err error) {
	at := s.key(key)
	within, cancel := context.WithTimeout(ctx, s.objects.timeout)
	defer cancel()
	for wait := newRetries(); ; {
		have, err := s.read(ctx, doing, at)
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
		done, lost, err := s.swap(ctx, doing, at, have, next)
		switch {
		case done:
			return next.content(), nil
		case err != nil:
			return none, err
		case lost:
			return none, s.objects.unsure(errors.New("an answer was lost, and the slot has changed since"))
		case !wait.Next(within):
			return none, s.objects.unsure(within.Err())
		}
	}
}

// swap writes next in the place of have. If it did not, lost says that it may have, and
// that the slot has changed since.
func (s *slots) swap(ctx context.Context, doing, at string, have, next *slot) (done, lost bool, err error) {
	data := next.Append(nil, next.value)
	tries := 0
	err = s.objects.retryUnknown(ctx, doing, func(ctx context.Context) error {
		tries++
		_, err := s.objects.bucket.put(ctx, at, data, have.tag)
		return err
	})
	if !errors.Is(err, errTaken) {
		return err == nil, false, err
	}
	now, err := s.read(ctx, doing, at) // perhaps an attempt of ours did it
	if err != nil {
		return false, false, s.objects.unsure(err)
	}
	return now.Commit == next.Commit, tries > 1, nil
}

// number tells one write of a slot from another.
func number() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return binary.LittleEndian.Uint64(b[:])
}

// removeAll deletes the slots of a thread.
func (s *slots) removeAll(ctx context.Context, thread string) error {
	keys, err := s.objects.list(ctx, "list slots", strings.TrimPrefix(s.dir(thread), s.objects.prefix), "", 0)
	if err != nil {
		return err
	}
	return each(len(keys), func(i int) error { return s.objects.remove(ctx, "remove a slot", keys[i]) })
}

// Slots implements [posthouse.SlotLister].
func (s *Store) Slots(ctx context.Context, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	return away.Reads(func(yield func(*posthouse.SlotItem, error) bool) {
		items, err := s.slots.keys(ctx, thread)
		for _, item := range items {
			have, err := s.slots.read(ctx, "read slots", s.slots.key(item))
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

// keys returns the keys of slots, sorted.
func (s *slots) keys(ctx context.Context, thread string) (found []posthouse.SlotKey, err error) {
	prefix := "slots/"
	if thread != "" {
		prefix = strings.TrimPrefix(s.dir(thread), s.objects.prefix)
	}
	keys, err := s.objects.list(ctx, "list slots", prefix, "", 0)
	for _, at := range keys {
		names := strings.Split(strings.TrimPrefix(at, s.objects.prefix), "/")
		name, nerr := hex.DecodeString(names[1])
		step, serr := hex.DecodeString(names[len(names)-1])
		key := posthouse.SlotKey{Thread: string(name), Step: string(step)}
		if nerr != nil || serr != nil { // a hashed name
			have, err := s.read(ctx, "read slots", at)
			if err != nil {
				return found, err
			}
			key = have.Key
			if !have.There {
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
