package memindex

import (
	"math"
	"slices"

	"github.com/posthouse/posthouse"
)

// RemoveAll takes a thread out with its summary and ids, and returns the entries it had.
// Callers hold the lock.
func (ix *Index) RemoveAll(name string) []*Entry {
	t := ix.threads[name]
	if t == nil {
		return nil
	}
	gone := ix.RemoveEntries(name, 0, math.MaxUint64)
	none := t.info
	none.Waiting = nil
	ix.reopen(t, &none)
	if t.info.Due != 0 {
		ix.due.remove(t)
	}
	ix.names.remove(t)
	ix.newest.remove(t)
	ix.unmark(t)
	if isActive(&t.info) {
		ix.active.remove(t)
	}
	delete(ix.threads, name)
	return gone
}

// RemoveEntries takes out entries from one sequence number to below another, and the ids
// that lead to them. It returns them. In the middle of a log this leaves a gap. Callers
// hold the lock.
func (ix *Index) RemoveEntries(name string, from, below uint64) (gone []*Entry) {
	t := ix.threads[name]
	if t == nil {
		return nil
	}
	index := func(seq uint64) uint64 { return min(max(seq, t.first)-t.first, uint64(len(t.entries))) }
	for i := index(from); i < index(below); i++ {
		e := t.entries[i]
		if e == nil {
			continue
		}
		for _, id := range e.IDs {
			if p := ix.ids[id]; p.thread == t && p.seq == e.Seq {
				ix.unindex(id, p)
			}
		}
		e.Gone = true
		t.entries[i] = nil
		gone = append(gone, e)
	}
	n := 0
	for n < len(t.entries) && t.entries[n] == nil {
		n++
	}
	if n > 0 {
		t.entries, t.first = slices.Clone(t.entries[n:]), t.first+uint64(n)
	}
	if ix.gone += len(gone); ix.gone > len(ix.commits)/2 {
		ix.commits = slices.DeleteFunc(ix.commits, func(e *Entry) bool { return e.Gone })
		ix.gone = 0
	}
	return gone
}

// Entry returns an entry of a log, or nil. Callers hold the lock.
func (ix *Index) Entry(name string, seq uint64) *Entry {
	t := ix.threads[name]
	if t == nil {
		return nil
	}
	return t.at(seq)
}

// Leads returns those of the entry's ids that lead to it now. Callers hold the lock.
func (ix *Index) Leads(e *Entry) (ids []int) {
	for i, id := range e.IDs {
		if p := ix.ids[id]; p.thread != nil && p.seq == e.Seq && p.thread.info.Thread == e.Thread {
			ids = append(ids, i)
		}
	}
	return ids
}

// Swap puts an entry with other data in the place of one, which stays as it is for those
// who read it. Callers hold the lock.
func Swap[D any](ix *Index, e *Entry, data D) {
	k := &kept[D]{*e, data}
	fresh := k.entry()
	t := ix.threads[e.Thread]
	t.entries[e.Seq-t.first] = fresh
	i, _ := slices.BinarySearchFunc(ix.commits, e.Commit, byCommit)
	ix.commits[i] = fresh
}

// Forget takes ids out of the index that lead to the thread. Callers hold the lock.
func (ix *Index) Forget(name string, ids []string) {
	for _, text := range ids {
		id := posthouse.ID(text)
		if p, ok := ix.ids[id]; ok && p.thread.info.Thread == name {
			ix.unindex(id, p)
		}
	}
}

// First returns the lowest sequence number in a log, 0 if it has no entries. Callers hold
// the lock.
func (ix *Index) First(name string) uint64 {
	if t := ix.threads[name]; t != nil && len(t.entries) > 0 {
		return t.first
	}
	return 0
}
