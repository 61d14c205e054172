package filestore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// A slot is what the store knows of a slot besides its value. It keeps revision and fence
// when the value is deleted.
type slot struct {
	posthouse.Slot // without the value
	there          bool
	commit         uint64
	place          place
}

func (s *slot) hash(key posthouse.SlotKey) posthouse.Hash {
	head := framelog.Slot{Commit: s.commit, Key: key}
	return head.Hash()
}

// Slot implements [posthouse.Store].
func (s *Store) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	doing := fmt.Sprintf("use slot %q of thread %q", key.Step, key.Thread)
	if err := valid.Slot(key, &op); err != nil {
		return posthouse.Slot{}, err
	}
	if op.Verb == posthouse.SlotGet {
		got, err := s.slotValue(ctx, key)
		return got, s.dir.wrap(doing, err)
	}
	r := &request{slot: true, key: key, op: op}
	if err := s.submit(ctx, doing, r); err != nil {
		return posthouse.Slot{}, err
	}
	r.after.Value = bytes.Clone(r.after.Value)
	if op.Verb == posthouse.SlotDelete && posthouse.IsReserved(key.Step) {
		s.dir.awaitReaders(ctx)
		if err := s.submit(context.WithoutCancel(ctx), doing, &request{alone: s.eraseSlots}); err != nil {
			return posthouse.Slot{}, err
		}
	}
	return r.after, nil
}

// eraseSlots takes the values of deleted slots out of all files, as it must for a data key: what was encrypted with
// it cannot be opened any more. Those of slots that are not the runtime's own go when the slots' log is
// tidied, or with Compact. It runs alone.
func (s *Store) eraseSlots() error {
	s.drains.wait()
	if err := s.drainAll(); err != nil {
		return err
	}
	s.drains.one.Lock()
	defer s.drains.one.Unlock()
	return s.rewriteSlots()
}

// slotValue reads a slot, [posthouse.ErrNotFound].
func (s *Store) slotValue(ctx context.Context, key posthouse.SlotKey) (got posthouse.Slot, err error) {
	for range attempts {
		if err := s.refresh(ctx); err != nil {
			return got, err
		}
		s.index.RLock()
		if err := s.index.Usable(ctx); err != nil {
			s.index.RUnlock()
			return got, err
		}
		var have slot
		if p := s.slots[key]; p != nil {
			have = *p
		}
		version := s.slotLog.version
		s.index.RUnlock()
		if !have.there {
			return got, posthouse.NotFound(fmt.Sprintf("slot %q of thread", key.Step), key.Thread)
		}
		var again bool
		got = have.Slot
		got.Value, again, err = s.slotBody(key, have, version)
		if !again {
			return got, err
		}
		if err := s.rebuild(ctx, err); err != nil {
			return got, err
		}
	}
	return got, err
}

// slotBody reads a value. again says that the log was rewritten during the read.
func (s *Store) slotBody(key posthouse.SlotKey, have slot, version uint64) (value []byte, again bool, err error) {
	frame := have.place.frame
	if frame == nil {
		f, err := s.dir.system.Open(slotsName, false)
		if err != nil {
			return nil, s.opts.ReadOnly, err
		}
		defer func() { _ = f.Close() }()
		s.index.RLock()
		again = version != s.slotLog.version
		s.index.RUnlock()
		if again {
			return nil, true, nil
		}
		frame, err = readFrame(f, have.place, true)
		if err != nil {
			return nil, s.opts.ReadOnly, err
		}
	}
	parsed, err := framelog.Parse(frame, true)
	var head framelog.Slot
	if err == nil {
		err = head.Read(parsed.Head)
	}
	if err == nil && (head.Key != key || head.Commit != have.commit) {
		err = &framelog.Damage{At: have.place.at, Why: "is of another slot"}
	}
	if err != nil {
		return nil, s.opts.ReadOnly, s.dir.corrupt(slotsName, err)
	}
	return bytes.Clone(parsed.Body), false, nil
}

// gatherSlot adds a change of a slot to a group.
func (s *state) gatherSlot(g *gathering, r *request) error {
	have, ok := g.slots[r.key]
	if !ok {
		s.index.RLock()
		if p := s.slots[r.key]; p != nil {
			have = *p
		}
		s.index.RUnlock()
	}
	if err := r.op.Admits(r.key, have.Slot, have.there); err != nil {
		return err
	}
	var value []byte
	have.Fence = max(have.Fence, r.op.Fence)
	have.there = r.op.Verb == posthouse.SlotPut
	if have.there {
		have.Revision++
		value = r.op.Value
	}
	g.next++
	have.commit = g.next
	head := framelog.Slot{Commit: g.next, Key: r.key, Revision: have.Revision, Fence: have.Fence, There: have.there}
	frame := head.Append(nil, value)
	have.place = placeOf(frame, len(value))
	r.after = have.Slot
	r.after.Value = value
	g.frames = append(g.frames, frame)
	if g.slots == nil {
		g.slots = map[posthouse.SlotKey]slot{}
	}
	g.slots[r.key] = have
	return nil
}

// placeOf is where a frame is that has not been drained.
func placeOf(frame []byte, body int) place {
	return place{frame: frame, head: uint32(len(frame) - framelogHeader - body), body: uint32(body)}
}

// keepSlot makes a durable change of a slot visible. Callers hold the index's lock.
func (s *state) keepSlot(g *segment, key posthouse.SlotKey, change slot) {
	if have := s.slots[key]; have != nil {
		s.digest.Drop(have.hash(key))
	}
	s.digest.Add(change.hash(key))
	s.slots[key] = &change
	if g.slots == nil {
		g.slots = map[posthouse.SlotKey]slot{}
	}
	g.slots[key] = change
}

// drainSlots appends a segment's slots to their log, each as it was last. It returns
// where they are now.
func (s *Store) drainSlots(g *segment) (moved map[posthouse.SlotKey]slot, end int64, err error) {
	end = s.slotLog.end
	if len(g.slots) == 0 {
		return nil, end, nil
	}
	var f file
	if end == 0 {
		f, err = s.dir.system.Create(slotsName)
	} else {
		f, err = s.dir.system.Open(slotsName, true)
	}
	if err != nil {
		return nil, end, err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	if err := cutAt(f, end); err != nil {
		return nil, end, err
	}
	var buf bytes.Buffer
	moved = map[posthouse.SlotKey]slot{}
	for key, change := range g.slots {
		frame := change.place.frame
		change.place.frame, change.place.at = nil, end+int64(buf.Len())
		moved[key] = change
		buf.Write(frame)
	}
	if _, err := f.WriteAt(buf.Bytes(), end); err != nil {
		return nil, end, err
	}
	err = f.Sync()
	if err == nil && end == 0 {
		err = s.dir.system.SyncDir(".")
	}
	return moved, end + int64(buf.Len()), err
}

// tidySlots rewrites the slots' log if older writes are most of it and more than half
// a segment.
func (s *Store) tidySlots() error {
	garbage := s.opts.segment / 2
	if s.slotLog.end < garbage {
		return nil
	}
	live := int64(0)
	s.index.RLock()
	for _, have := range s.slots {
		live += have.place.size()
	}
	s.index.RUnlock()
	if s.slotLog.end < garbage+2*live {
		return nil
	}
	return s.rewriteSlots()
}

// rewriteSlots writes a new slots' log with the slots that the store knows. Callers
// hold drains.one, or are alone.
func (s *Store) rewriteSlots() error {
	old, err := s.dir.system.Open(slotsName, false)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }()
	var places map[posthouse.SlotKey]slot
	end := int64(0)
	err = s.replaceThen(slotsName, ".", func(f file) error {
		places, end, err = s.copySlots(old, f)
		return err
	}, func() {
		for key, to := range places {
			if have := s.slots[key]; have != nil && have.commit == to.commit {
				have.place = to.place
			}
		}
		s.version++
		s.slotLog = logFile{end: end, version: s.version}
	})
	return err
}

// copySlots copies the frames of slots as they are now.
func (s *Store) copySlots(old, to file) (places map[posthouse.SlotKey]slot, end int64, err error) {
	places = map[posthouse.SlotKey]slot{}
	w := writer{f: to}
	for scan := framelog.Scan(old, 0, s.slotLog.end, true); ; {
		f, err := scan.Next()
		if err == io.EOF {
			return places, w.end, w.flush()
		}
		var head framelog.Slot
		if err == nil {
			err = head.Read(f.Head)
		}
		if err != nil {
			return nil, 0, s.dir.corrupt(slotsName, err)
		}
		s.index.RLock()
		have := s.slots[head.Key]
		current := have != nil && have.commit == head.Commit
		var kept slot
		if current {
			kept = *have
		}
		s.index.RUnlock()
		if !current {
			continue
		}
		kept.place = place{at: w.end, head: uint32(len(f.Head)), body: uint32(f.BodySize)}
		places[head.Key] = kept
		if err := w.write(head.Append(nil, f.Body)); err != nil {
			return nil, 0, err
		}
	}
}

// Slots implements [posthouse.SlotLister]. It yields the slots that there are when the
// first is asked for, each as it is when it is asked for.
func (s *Store) Slots(ctx context.Context, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	return func(yield func(*posthouse.SlotItem, error) bool) {
		keys, err := s.slotKeys(ctx, thread)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, key := range keys {
			got, err := s.slotValue(ctx, key)
			if isNotFound(err) {
				continue // deleted since
			}
			if err != nil {
				yield(nil, s.dir.wrap("list slots", err))
				return
			}
			if !yield(&posthouse.SlotItem{Key: key, Slot: got}, nil) {
				return
			}
		}
	}
}

func (s *Store) slotKeys(ctx context.Context, thread string) (keys []posthouse.SlotKey, err error) {
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	s.index.RLock()
	defer s.index.RUnlock()
	if err := s.index.Usable(ctx); err != nil {
		return nil, err
	}
	for key, have := range s.slots {
		if have.there && (thread == "" || thread == key.Thread) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b posthouse.SlotKey) int {
		return cmp.Or(strings.Compare(a.Thread, b.Thread), strings.Compare(a.Step, b.Step))
	})
	return keys, nil
}
