package memindex

import (
	"cmp"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
)

// An Incoming entry is ready to be indexed. It shares nothing with its batch.
type Incoming[D any] struct {
	Entry *Entry[D]
	Info  *posthouse.ThreadInfo // the summary; nil leaves it as it is
	Drop  []posthouse.ID
	Rows  []*posthouse.Header // for each id: the checkpoint's header, or nil
}

// Take copies from a batch what the index keeps of it.
func Take[D any](b *posthouse.Batch, data D) *Incoming[D] {
	in := &Incoming[D]{
		Entry: &Entry[D]{Thread: b.Entry.Thread, Seq: b.Entry.Seq, Hash: b.Entry.Hash, Data: data},
		Info:  CloneInfo(b.Thread), Drop: slices.Clone(b.Drop),
	}
	if len(b.IDs) > 0 {
		in.Entry.IDs, in.Rows = make([]posthouse.ID, len(b.IDs)), make([]*posthouse.Header, len(b.IDs))
	}
	for i, id := range b.IDs {
		in.Entry.IDs[i] = id.ID
		if id.Header != nil {
			in.Rows[i] = cloneHeader(id.Header)
		}
	}
	return in
}

// Add indexes the next entry of a log. Its commit is the next one unless it has a number
// already. Callers hold the lock, and call Wake afterwards.
func (ix *Index[D]) Add(in *Incoming[D]) {
	e := in.Entry
	if e.Commit == 0 {
		e.Commit = ix.last + 1
	}
	ix.last = max(ix.last, e.Commit)
	t := ix.thread(e.Thread)
	for _, id := range in.Drop {
		if p := ix.ids[id]; p.thread == t {
			ix.unindex(id, p)
		}
	}
	for i, id := range e.IDs {
		ix.index(t, id, e, in.Rows[i])
	}
	if in.Info != nil {
		ix.summarise(t, in.Info)
	}
	if len(t.entries) == 0 {
		t.first = e.Seq
	}
	for t.first+uint64(len(t.entries)) < e.Seq { // a copy may have gaps
		t.entries = append(t.entries, nil)
	}
	t.entries = append(t.entries, e)
	ix.commits = append(ix.commits, e)
}

// Summarise replaces a thread's summary, and makes the thread if it does not exist.
// Callers hold the lock.
func (ix *Index[D]) Summarise(info *posthouse.ThreadInfo) {
	ix.summarise(ix.thread(info.Thread), CloneInfo(info))
}

// Sort puts the commits in their order, for a store that has added logs one by one.
// Callers hold the lock.
func (ix *Index[D]) Sort() {
	slices.SortFunc(ix.commits, func(a, b *Entry[D]) int { return cmp.Compare(a.Commit, b.Commit) })
}

// Wake wakes those who wait for the next commit.
func (ix *Index[D]) Wake() { ix.news.Tell() }

// thread returns a thread, which it makes if it is missing.
func (ix *Index[D]) thread(name string) *thread[D] {
	t := ix.threads[name]
	if t == nil {
		t = &thread[D]{rows: ordered[*row]{cmp: bySeq}}
		t.info.Thread = name
		ix.threads[name] = t
		ix.names.add(t)
		ix.newest.add(t)
	}
	return t
}

// index makes an id lead to an entry, with the checkpoint's header or nil. A newer entry
// of another thread keeps the id: logs may be added one by one.
func (ix *Index[D]) index(t *thread[D], id posthouse.ID, e *Entry[D], h *posthouse.Header) {
	if old, ok := ix.ids[id]; ok {
		if other := old.thread.at(old.seq); old.thread != t && other != nil && other.Commit > e.Commit {
			return
		}
		ix.unindex(id, old)
	}
	if h == nil {
		ix.ids[id] = place[D]{t, e.Seq, nil}
		return
	}
	r := &row{*h}
	ix.ids[id] = place[D]{t, e.Seq, r}
	t.rows.add(r)
	ix.rows.add(r)
	c := ix.coords[r.Coordination]
	if c == nil {
		c = &ordered[*row]{cmp: byOrder}
		ix.coords[r.Coordination] = c
	}
	c.add(r)
}

func (ix *Index[D]) unindex(id posthouse.ID, p place[D]) {
	delete(ix.ids, id)
	if p.row == nil {
		return
	}
	p.thread.rows.remove(p.row)
	ix.rows.remove(p.row)
	c := ix.coords[p.row.Coordination]
	if c.remove(p.row); len(c.blocks) == 0 {
		delete(ix.coords, p.row.Coordination)
	}
}

// summarise replaces the thread's summary.
func (ix *Index[D]) summarise(t *thread[D], info *posthouse.ThreadInfo) {
	was, is := isActive(&t.info), isActive(info)
	ix.reopen(t, info)
	moved := info.Due != t.info.Due
	if moved && t.info.Due != 0 {
		ix.due.remove(t)
	}
	active := info.Minute() != t.info.Minute()
	if active {
		ix.newest.remove(t)
	}
	t.info = *info
	if active {
		ix.newest.add(t)
	}
	if moved && info.Due != 0 {
		ix.due.add(t)
	}
	switch {
	case is && !was:
		ix.active.add(t)
	case was && !is:
		ix.active.remove(t)
	}
}

func cloneHeader(h *posthouse.Header) *posthouse.Header {
	c := *h
	c.Next, c.Gates, c.Labels = slices.Clone(h.Next), slices.Clone(h.Gates), maps.Clone(h.Labels)
	if h.Source != nil {
		s := *h.Source
		c.Source = &s
	}
	return &c
}

// CloneInfo copies a summary with what it refers to.
func CloneInfo(t *posthouse.ThreadInfo) *posthouse.ThreadInfo {
	c := *t
	c.Branches, c.Births, c.Waiting = slices.Clone(t.Branches), slices.Clone(t.Births), slices.Clone(t.Waiting)
	c.Signals, c.Taken, c.Cancelling = slices.Clone(t.Signals), slices.Clone(t.Taken), slices.Clone(t.Cancelling)
	return &c
}
