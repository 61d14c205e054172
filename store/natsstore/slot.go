package natsstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/slotsum"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// A slot is a key of a bucket. The key's value is the slot's value, so that other
// clients can read it. The message's headers have the rest of the slot. A deleted slot
// keeps its revision and fence in a marker, as deleted keys of buckets have one.
const (
	headRevision  = "Posthouse-Revision"
	headFence     = "Posthouse-Fence"
	headSum       = "Posthouse-Sum"    // CRC-32C of key, revision, fence and value
	headChunks    = "Posthouse-Chunks" // where a value is that is too large for one message
	headOperation = "KV-Operation"
)

// slots are those of all threads, in the store's buckets.
type slots struct{ streams *streams }

// A storedSlot is a slot as its bucket has it.
type storedSlot struct {
	posthouse.Slot
	there  bool
	last   uint64 // its message; 0: no message
	chunks []uint64
}

func (v *storedSlot) sum(key posthouse.SlotKey) string {
	return strconv.FormatUint(uint64(slotsum.Of(key, &v.Slot, v.there)), 16)
}

// Slot implements [posthouse.Store]. A write reads the slot first and then depends on what
// it has read. It is not repeated if the connection is lost: [posthouse.ErrUnknown].
func (s *Store) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	usable := s.lifecycle.Usable
	if op.Verb != posthouse.SlotGet {
		usable = s.streams.writable
	}
	if err := usable(ctx); err != nil {
		return posthouse.Slot{}, err
	}
	if err := valid.Slot(key, &op); err != nil {
		return posthouse.Slot{}, err
	}
	doing := fmt.Sprintf("use slot %q of thread %q", key.Step, key.Thread)
	for {
		have, err := s.slots.read(ctx, doing, key)
		switch {
		case err != nil && op.Verb == posthouse.SlotGet:
			return posthouse.Slot{}, away.Read(err)
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
		next := storedSlot{Slot: posthouse.Slot{Revision: have.Revision, Fence: max(have.Fence, op.Fence)}}
		if op.Verb == posthouse.SlotPut {
			next.Revision++
			next.Value, next.there = bytes.Clone(op.Value), true
		}
		err = s.slots.write(ctx, key, &next, have)
		switch {
		case err == nil:
			return next.Slot, nil
		case s.streams.own != nil && errors.Is(err, posthouse.ErrFull):
			return s.slots.whenFull(ctx, doing, key, have.last, err)
		case !hasMoved(err):
			return posthouse.Slot{}, s.streams.wrap(doing, err)
		}
	}
}

// whenFull returns the error of a write that found no room, full, unless the slot was
// written since it was read.
func (s *slots) whenFull(ctx context.Context, doing string, key posthouse.SlotKey, last uint64, full error) (posthouse.Slot, error) {
	now, err := s.read(ctx, doing, key)
	if err == nil && now.last == last {
		return posthouse.Slot{}, full
	}
	return posthouse.Slot{}, &posthouse.Error{
		Code: posthouse.CodeUnknown, Message: "cannot " + doing + ": there is no room on the disk, and the slot may have been written before",
		Err: full, Hint: "make room, then read the slot",
	}
}

// read asks for a slot. One that was never written has the zero value.
func (s *slots) read(ctx context.Context, doing string, key posthouse.SlotKey) (v storedSlot, err error) {
	for last := uint64(0); ; last = v.last {
		m, header, err := s.streams.newest(ctx, doing, "KV_"+s.streams.names.bucket(key.Thread), s.streams.names.slotSubject(key))
		if errors.Is(err, errNone) {
			return storedSlot{}, nil
		}
		if err != nil {
			return v, err
		}
		v, err = s.parse(ctx, key, m, header)
		if errors.Is(err, posthouse.ErrCorrupt) && v.last != last {
			continue // it may have been written again, with its chunks gone
		}
		return v, err
	}
}

// parse reads a slot's message.
func (s *slots) parse(ctx context.Context, key posthouse.SlotKey, m *stored, header nats.Header) (v storedSlot, err error) {
	v = storedSlot{there: header.Get(headOperation) == "", last: m.Seq}
	damaged := s.streams.lost("slot %q of thread %q", key.Step, key.Thread)
	revision, err1 := strconv.ParseUint(header.Get(headRevision), 10, 64)
	fence, err2 := strconv.ParseUint(header.Get(headFence), 10, 64)
	v.Revision, v.Fence = revision, fence
	if err1 != nil || err2 != nil {
		return v, damaged
	}
	if v.there && len(m.Data) > 0 {
		v.Value = m.Data
	}
	for one := range strings.FieldsSeq(header.Get(headChunks)) {
		seq, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			return v, damaged
		}
		v.chunks = append(v.chunks, seq)
	}
	if len(v.chunks) > 0 {
		v.Value, err = s.streams.readChunks(ctx, v.chunks)
		if err != nil {
			return v, err
		}
	}
	if v.sum(key) != header.Get(headSum) {
		return v, damaged
	}
	return v, nil
}

// write writes a slot in the place of what it was.
func (s *slots) write(ctx context.Context, key posthouse.SlotKey, next *storedSlot, have storedSlot) error {
	m := &nats.Msg{Subject: s.streams.names.slotSubject(key), Data: next.Value, Header: nats.Header{}}
	m.Header.Set(headRevision, strconv.FormatUint(next.Revision, 10))
	m.Header.Set(headFence, strconv.FormatUint(next.Fence, 10))
	m.Header.Set(headSum, next.sum(key))
	if !next.there {
		m.Header.Set(headOperation, "DEL")
	}
	if len(next.Value) > s.streams.room {
		chunks, err := s.streams.putChunks(ctx, next.Value)
		if err != nil {
			return err
		}
		m.Header.Set(headChunks, strings.Trim(fmt.Sprint(chunks), "[]"))
		m.Data, next.chunks = nil, chunks
	}
	if err := s.streams.writable(ctx); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.streams.opts.Timeout)
	defer cancel()
	_, err := s.streams.publish(within, "KV_"+s.streams.names.bucket(key.Thread), m, have.last)
	switch {
	case err == nil && len(have.chunks) > 0:
		_ = s.streams.erase(within, s.streams.aside, have.chunks)
	case hasMoved(err) && len(next.chunks) > 0:
		_ = s.streams.erase(within, s.streams.aside, next.chunks)
	}
	return err
}

// Slots implements [posthouse.SlotLister]. It yields the slots that there are when the
// first is asked for, each as it is when it is asked for.
func (s *Store) Slots(ctx context.Context, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	return away.Reads(func(yield func(*posthouse.SlotItem, error) bool) {
		keys, err := s.slots.keys(ctx, thread)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, key := range keys {
			have, err := s.slots.read(ctx, "list slots", key)
			if err != nil {
				yield(nil, err)
				return
			}
			if have.there && !yield(&posthouse.SlotItem{Key: key, Slot: have.Slot}, nil) {
				return
			}
		}
	})
}

// keys returns the keys of a thread's slots, or of all for "", deleted ones too.
func (s *slots) keys(ctx context.Context, thread string) (keys []posthouse.SlotKey, err error) {
	if err := s.streams.lifecycle.Usable(ctx); err != nil {
		return nil, err
	}
	of := map[string]string{s.streams.names.bucket(thread): "*"}
	if thread == "" {
		of[s.streams.names.bucket(posthouse.ProcessThread)] = "*"
	} else {
		of[s.streams.names.bucket(thread)] = escape(thread)
	}
	for bucket, token := range of {
		err := s.streams.retryUnknown(ctx, "list slots", func(ctx context.Context) error {
			stream, err := s.streams.js.Stream(ctx, "KV_"+bucket)
			if err != nil {
				return err
			}
			info, err := stream.Info(ctx, jetstream.WithSubjectFilter("$KV."+bucket+"."+token+".*"))
			if err != nil {
				return err
			}
			for subject := range info.State.Subjects {
				key, ok := slotKey(subject)
				if !ok {
					return s.streams.lost("the bucket %s has %.80q", bucket, subject)
				}
				keys = append(keys, key)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(keys, func(a, b posthouse.SlotKey) int {
		return cmp.Or(strings.Compare(a.Thread, b.Thread), strings.Compare(a.Step, b.Step))
	})
	return keys, nil
}

// removeSlots deletes the slots of a thread, with what they kept when they were deleted.
func (s *Store) removeSlots(ctx context.Context, thread string) error {
	s.slotting.Lock()
	defer s.slotting.Unlock()
	keys, err := s.slots.keys(ctx, thread)
	if err != nil || len(keys) == 0 {
		return err
	}
	bucket, err := s.streams.js.Stream(ctx, "KV_"+s.streams.names.bucket(thread))
	if err == nil {
		err = s.testifyWithout(ctx, thread, uint64(len(keys))) // else they would look lost
	}
	if err != nil {
		return err
	}
	for _, key := range keys {
		have, err := s.slots.read(ctx, "remove slots", key)
		if err == nil && have.last != 0 {
			err = s.streams.erase(ctx, s.streams.aside, have.chunks)
			if err == nil {
				err = s.streams.erase(ctx, bucket, []uint64{have.last})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
