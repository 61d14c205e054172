package memstore

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
)

// Remove implements [posthouse.Store].
func (s *Store) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return done, err
	}
	if r.All {
		delete(s.slots, r.Thread) // slots may exist without a log
	}
	t := s.threads[r.Thread]
	switch {
	case t == nil:
		return done, nil
	case r.All:
		done = s.removeEntries(t, 0, t.info.Tail.Seq+1)
		s.reopen(t, &posthouse.ThreadInfo{})
		if t.info.Due != 0 {
			s.due.remove(t)
		}
		s.names.remove(t)
		if isActive(&t.info) {
			s.active.remove(t)
		}
		delete(s.threads, r.Thread)
	case r.Below > 0:
		done = s.removeEntries(t, r.From, r.Below)
	default:
		done = s.removeBodies(t, r.Bodies)
	}
	if s.gone > len(s.commits)/2 {
		s.commits = slices.DeleteFunc(s.commits, func(e *entry) bool { return e.gone })
		s.gone = 0
	}
	return done, nil
}

// removeEntries removes entries and the ids that lead to them. In the middle of a log
// this leaves a gap.
func (s *Store) removeEntries(t *thread, from, below uint64) (done posthouse.Removed) {
	index := func(seq uint64) uint64 { return min(max(seq, t.first)-t.first, uint64(len(t.entries))) }
	for i := index(from); i < index(below); i++ {
		e := t.entries[i]
		if e == nil {
			continue
		}
		for _, id := range e.ids {
			if p := s.ids[id]; p.thread == t && p.seq == e.Seq {
				s.unindex(id, p)
			}
		}
		done.Entries++
		done.Bytes += int64(len(e.Header) + len(e.Sig))
		for _, b := range e.Bodies {
			count(&done, b)
		}
		e.gone = true
		s.gone++
		t.entries[i] = nil
	}
	n := 0
	for n < len(t.entries) && t.entries[n] == nil {
		n++
	}
	if n > 0 {
		t.entries, t.first = slices.Clone(t.entries[n:]), t.first+uint64(n)
	}
	return done
}

func (s *Store) removeBodies(t *thread, bodies []posthouse.BodyRef) (done posthouse.Removed) {
	for _, ref := range bodies {
		e := t.at(ref.Seq)
		if e == nil || ref.Record < 0 || ref.Record >= len(e.Bodies) || e.Bodies[ref.Record] == nil {
			continue
		}
		count(&done, e.Bodies[ref.Record])
		without := e.Entry
		without.Bodies = slices.Clone(e.Bodies)
		without.Bodies[ref.Record] = nil
		fresh := &entry{Entry: cloneEntry(&without, true), ids: e.ids, commit: e.commit} // a clone frees the removed bytes
		t.entries[ref.Seq-t.first] = fresh
		i, _ := slices.BinarySearchFunc(s.commits, e.commit, byCommit)
		s.commits[i] = fresh
	}
	return done
}

func count(done *posthouse.Removed, body []byte) {
	if body != nil {
		done.Bodies++
		done.Bytes += int64(len(body))
	}
}
