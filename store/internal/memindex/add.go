package memindex

import (
	"cmp"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
)

// An Incoming entry is ready to be indexed.
type Incoming struct {
	Entry *Entry
	Info  *posthouse.ThreadInfo // the summary; nil leaves it as it is
	Keep  bool                  // Info is the index's own from now on; else the index copies it
	Drop  []posthouse.ID
	rows  []*row // for each id: its checkpoint, or nil
}

// A kept is an entry with what its store keeps for it, in one piece of memory.
type kept[D any] struct {
	Entry
	content D
}

func (k *kept[D]) entry() *Entry {
	k.Entry.data = &k.content
	return &k.Entry
}

// NewEntry returns an entry for which a store keeps data: the content itself, or where it lies.
func NewEntry[D any](data D) *Entry {
	k := &kept[D]{content: data}
	return k.entry()
}

// Data returns what a store keeps for an entry, which may change under the lock. D is the type
// that the entry was made with.
func Data[D any](e *Entry) *D { return e.data.(*D) }

// A single is an entry with one id in one piece of memory: nearly all entries are.
type single[D any] struct {
	kept[D]
	row row
	id  [1]posthouse.ID
	at  [1]*row
}

// Take copies from a batch what the index keeps of it. Summary and Drop stay those of the
// batch, which must not change before the entry is added.
func Take[D any](b *posthouse.Batch, data D) Incoming {
	in := Incoming{Info: b.Thread, Drop: b.Drop}
	if len(b.IDs) == 1 && b.IDs[0].Header != nil {
		s := &single[D]{kept: kept[D]{content: data}}
		in.Entry, s.IDs, in.rows = s.entry(), s.id[:], s.at[:]
		s.id[0], s.at[0] = b.IDs[0].ID, &s.row
		s.row.copy(b.IDs[0].Header)
	} else {
		in.Entry = NewEntry(data)
		if n := len(b.IDs); n > 0 {
			in.Entry.IDs, in.rows = make([]posthouse.ID, n), make([]*row, n)
		}
		for i, id := range b.IDs {
			in.Entry.IDs[i] = id.ID
			if id.Header != nil {
				in.rows[i] = &row{}
				in.rows[i].copy(id.Header)
			}
		}
	}
	e := in.Entry
	e.Thread, e.Seq, e.Hash = b.Entry.Thread, b.Entry.Seq, b.Entry.Hash
	return in
}

// SetIDs says which ids the entry brings. headers has for each the checkpoint's header or
// nil. The index keeps both.
func (in *Incoming) SetIDs(ids []posthouse.ID, headers []*posthouse.Header) {
	in.Entry.IDs, in.rows = ids, make([]*row, len(ids))
	for i, h := range headers {
		if h != nil {
			in.rows[i] = &row{Header: *h}
		}
	}
}

// Add indexes the next entry of a log. Its commit is the next one unless it has a number
// already. Callers hold the lock, and call Wake afterwards.
func (ix *Index) Add(in Incoming) {
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
		ix.index(t, id, e, in.rows[i])
	}
	if in.Info != nil {
		ix.summarise(t, in.Info, in.Keep)
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
func (ix *Index) Summarise(info *posthouse.ThreadInfo) {
	ix.summarise(ix.thread(info.Thread), info, false)
}

// Sort puts the commits in their order, for a store that has added logs one by one.
// Callers hold the lock.
func (ix *Index) Sort() {
	slices.SortFunc(ix.commits, func(a, b *Entry) int { return cmp.Compare(a.Commit, b.Commit) })
}

// Wake wakes those who wait for the next commit.
func (ix *Index) Wake() { ix.news.Tell() }

// thread returns a thread, which it makes if it is missing.
func (ix *Index) thread(name string) *thread {
	t := ix.threads[name]
	if t == nil {
		t = &thread{rows: ordered[*row]{cmp: bySeq}, entries: make([]*Entry, 0, firstBlock)}
		t.info.Thread = name
		ix.threads[name] = t
		ix.names.add(t)
		ix.newest.add(t)
	}
	return t
}

// index makes an id lead to an entry, with its checkpoint or nil. A newer entry
// of another thread keeps the id: logs may be added one by one.
func (ix *Index) index(t *thread, id posthouse.ID, e *Entry, r *row) {
	if old, ok := ix.ids[id]; ok {
		if other := old.thread.at(old.seq); old.thread != t && other != nil && other.Commit > e.Commit {
			return
		}
		ix.unindex(id, old)
	}
	ix.ids[id] = place{t, e.Seq, r}
	if r == nil {
		return
	}
	t.rows.add(r)
	ix.rows.add(r)
	c := ix.coords[r.Coordination]
	if c == nil {
		c = &ordered[*row]{cmp: byOrder}
		ix.coords[r.Coordination] = c
	}
	c.add(r)
}

func (ix *Index) unindex(id posthouse.ID, p place) {
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

// summarise replaces the thread's summary. The index copies it unless it may keep it.
func (ix *Index) summarise(t *thread, info *posthouse.ThreadInfo, keep bool) {
	was, is := isActive(&t.info), isActive(info)
	ix.reopen(t, info)
	moved := info.Due != t.info.Due
	if moved && t.info.Due != 0 {
		ix.due.remove(t)
	}
	active := info.Minute() != t.info.Minute()
	marked := ix.remark(t, info, active)
	if active {
		ix.newest.remove(t)
	}
	if keep {
		t.info = *info
	} else {
		t.copy(info)
	}
	if active {
		ix.newest.add(t)
	}
	if marked != nil {
		marked()
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

// copy makes t's summary equal to info, and shares no memory with it. Lists that did not
// change stay, and the heads, which change with each step, are written over: only who holds
// the lock sees them.
func (t *thread) copy(info *posthouse.ThreadInfo) {
	was := t.info
	t.info = *info
	t.heads = append(t.heads[:0], info.Branches...)
	if t.info.Branches != nil {
		t.info.Branches = t.heads
	}
	t.info.Births, t.info.Waiting = unchanged(was.Births, info.Births), unchanged(was.Waiting, info.Waiting)
	t.info.Signals, t.info.Taken = unchanged(was.Signals, info.Signals), unchanged(was.Taken, info.Taken)
	t.info.Cancelling, t.info.Begun = unchanged(was.Cancelling, info.Cancelling), unchanged(was.Begun, info.Begun)
	t.info.Labels = was.Labels
	if !sameLabels(was.Labels, info.Labels) {
		t.info.Labels = maps.Clone(info.Labels)
	}
}

// unchanged returns was if is equals it, else a copy of is.
func unchanged[E comparable](was, is []E) []E {
	if len(is) > 0 && slices.Equal(was, is) {
		return was
	}
	return slices.Clone(is)
}

// copy makes r the row of a checkpoint. It shares no memory with h.
func (r *row) copy(h *posthouse.Header) {
	r.Header = *h
	r.Next, r.Gates, r.Labels = append(r.next[:0:1], h.Next...), slices.Clone(h.Gates), maps.Clone(h.Labels)
	if h.Next == nil {
		r.Next = nil
	}
	if h.Source != nil {
		s := *h.Source
		r.Source = &s
	}
}

// CloneInfo copies a summary with what it refers to.
func CloneInfo(t *posthouse.ThreadInfo) *posthouse.ThreadInfo {
	c := *t
	c.Branches, c.Births, c.Waiting = slices.Clone(t.Branches), slices.Clone(t.Births), slices.Clone(t.Waiting)
	c.Signals, c.Taken, c.Cancelling = slices.Clone(t.Signals), slices.Clone(t.Taken), slices.Clone(t.Cancelling)
	c.Labels, c.Begun = maps.Clone(t.Labels), slices.Clone(t.Begun)
	return &c
}
