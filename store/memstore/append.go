package memstore

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// Append implements [posthouse.Store].
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := valid.Batch(b); err != nil {
		return err
	}
	return s.put(ctx, []incoming{take(b)})
}

// AppendAll implements [posthouse.BulkAppender].
func (s *Store) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	if err := valid.Batches(bs); err != nil {
		return err
	}
	in := make([]incoming, len(bs))
	for i, b := range bs {
		in[i] = take(b)
	}
	return s.put(ctx, in)
}

// An incoming entry is copied from what the caller handed in.
type incoming struct {
	*posthouse.Batch
	entry *entry
	info  *posthouse.ThreadInfo
	rows  []*row
}

func take(b *posthouse.Batch) incoming {
	return incoming{b, &entry{Entry: cloneEntry(b.Entry, true)}, cloneInfo(b.Thread), cloneRows(b.IDs)}
}

// put appends entries of one thread, all or none. It changes nothing before it has
// checked all of them.
func (s *Store) put(ctx context.Context, in []incoming) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	for len(in) > 0 && s.threads[in[0].entry.Thread].has(in[0].entry.Seq, in[0].entry.Hash) {
		in = in[1:]
	}
	if len(in) == 0 {
		return nil
	}
	e := in[0].entry
	t := s.threads[e.Thread]
	if tail := t.tail(); tail != in[0].After {
		return valid.Conflict(in[0].Batch, tail)
	}
	if err := s.free(t, in); err != nil {
		return err
	}
	if t == nil {
		t = &thread{first: e.Seq, rows: ordered[*row]{cmp: bySeq}}
		t.info.Thread = e.Thread
		s.threads[e.Thread] = t
		s.names.add(t)
	}
	for i := range in {
		s.add(t, &in[i])
	}
	s.wakeAll()
	return nil
}

// add appends an entry that put has checked.
func (s *Store) add(t *thread, in *incoming) {
	e := in.entry
	for _, id := range in.Drop {
		if p := s.ids[id]; p.thread == t {
			s.unindex(id, p)
		}
	}
	for i, id := range in.IDs {
		s.index(t, id.ID, e.Seq, in.rows[i])
		e.ids = append(e.ids, id.ID)
	}
	s.summarise(t, in.info)
	for t.first+uint64(len(t.entries)) < e.Seq { // a copy may have gaps
		t.entries = append(t.entries, nil)
	}
	t.entries = append(t.entries, e)
	s.last++
	e.commit = s.last
	s.commits = append(s.commits, e)
}

// tail returns where the log ends: zero for a nil thread.
func (t *thread) tail() posthouse.Position {
	if t == nil {
		return posthouse.Position{}
	}
	return t.info.Tail
}

// has reports whether the log has the entry, or had it as its tail before its bytes
// were removed.
func (t *thread) has(seq uint64, hash posthouse.Hash) bool {
	if t == nil {
		return false
	}
	if e := t.at(seq); e != nil {
		return e.Hash == hash
	}
	return t.info.Tail == posthouse.Position{Seq: seq, Hash: hash}
}

// at returns an entry, or nil.
func (t *thread) at(seq uint64) *entry {
	if seq < t.first || seq-t.first >= uint64(len(t.entries)) {
		return nil
	}
	return t.entries[seq-t.first]
}

// free returns [posthouse.ErrExists] if an id is taken, in the store or by an entry
// before it in the batch.
func (s *Store) free(t *thread, in []incoming) error {
	var ours map[posthouse.ID]bool // whether an id leads to t once the entries before are appended
	if len(in) > 1 {
		ours = map[posthouse.ID]bool{}
	}
	for i := range in {
		for _, id := range in[i].IDs {
			p, there := s.ids[id.ID]
			mine := p.thread == t
			if now, known := ours[id.ID]; known {
				there, mine = now, true
			}
			if there && !(mine && id.Replace) {
				return s.taken(id.ID, p, in[i].entry.Thread)
			}
		}
		if len(in) == 1 {
			return nil
		}
		for _, id := range in[i].Drop {
			if _, known := ours[id]; known || s.ids[id].thread == t {
				ours[id] = false
			}
		}
		for _, id := range in[i].IDs {
			ours[id.ID] = true
		}
	}
	return nil
}

func (s *Store) taken(id posthouse.ID, p place, thread string) error {
	message := fmt.Sprintf("%q is brought twice to thread %q", id, thread)
	if p.thread != nil {
		message = fmt.Sprintf("%q is already entry %d of thread %q", id, p.seq, p.thread.info.Thread)
	}
	return &posthouse.Error{Code: posthouse.CodeExists, Message: message}
}

// index makes an id lead to an entry, with the checkpoint's row or nil.
func (s *Store) index(t *thread, id posthouse.ID, seq uint64, r *row) {
	if old, ok := s.ids[id]; ok {
		s.unindex(id, old)
	}
	s.ids[id] = place{t, seq, r}
	if r == nil {
		return
	}
	t.rows.add(r)
	s.rows.add(r)
	c := s.coords[r.Coordination]
	if c == nil {
		c = &ordered[*row]{cmp: byOrder}
		s.coords[r.Coordination] = c
	}
	c.add(r)
}

func (s *Store) unindex(id posthouse.ID, p place) {
	delete(s.ids, id)
	if p.row == nil {
		return
	}
	p.thread.rows.remove(p.row)
	s.rows.remove(p.row)
	c := s.coords[p.row.Coordination]
	if c.remove(p.row); len(c.blocks) == 0 {
		delete(s.coords, p.row.Coordination)
	}
}

func (s *Store) summarise(t *thread, info *posthouse.ThreadInfo) {
	was, is := isActive(&t.info), isActive(info)
	s.reopen(t, info)
	moved := info.Due != t.info.Due
	if moved && t.info.Due != 0 {
		s.due.remove(t)
	}
	t.info = *info
	if moved && info.Due != 0 {
		s.due.add(t)
	}
	switch {
	case is && !was:
		s.active.add(t)
	case was && !is:
		s.active.remove(t)
	}
}

// isActive reports whether a query for work may match the thread.
func isActive(t *posthouse.ThreadInfo) bool {
	return len(t.Waiting) > 0 || t.Lease.Held || t.Due != 0 || t.Runnable()
}
