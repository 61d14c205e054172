package memindex

import (
	"bytes"
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/internal/wake"
)

// An Index knows the threads of a store. Writers hold the lock; the methods that read take it
// themselves.
type Index struct {
	sync.RWMutex
	// Refresh, if set, is called without the lock before each page is read: a store
	// that follows another process brings the index up to date in it.
	Refresh func(context.Context) error

	closed bool
	content
	plan Plan      // the newest one, and its memory is used again
	news wake.News // of commits
}

// content is what an index holds, to be replaced as a whole.
type content struct {
	threads map[string]*thread
	ids     map[posthouse.ID]place

	rows   ordered[*row]             // all checkpoints, by order key
	coords map[string]*ordered[*row] // the same, by coordination
	names  ordered[*thread]          // all threads, by name
	active ordered[*thread]          // threads that queries for work may match
	due    ordered[*thread]          // threads with something due, by due time
	newest ordered[*thread]          // all threads, by activity, the newest at the end, where adding is cheap
	marks  ordered[*markRow]         // all threads by each of their marks
	gates  map[lists.GateList]*ordered[*openGate]

	commits []*Entry // in commit order, some of them gone
	gone    int      // how many of commits are gone
	last    uint64   // number of the newest commit
}

// A thread is one log with its summary.
type thread struct {
	info    posthouse.ThreadInfo
	heads   []posthouse.BranchHead // memory for info.Branches
	first   uint64                 // sequence of entries[0]
	entries []*Entry               // nil where a released version was dropped
	rows    ordered[*row]          // its checkpoints, by sequence
	open    []*openGate            // as info.Waiting
	marks   []*markRow             // in the index if marked
	marked  bool
}

// An Entry is an entry of a log as the index knows it. [Data] and Gone change under the
// lock, the rest never.
type Entry struct {
	Thread string
	Seq    uint64
	Hash   posthouse.Hash
	Commit uint64         // its number in the order of commits
	IDs    []posthouse.ID // that it brought to the index
	Gone   bool           // removed
	data   any            // a pointer, see Data
}

// A row is an indexed checkpoint. It never changes.
type row struct {
	posthouse.Header
	next [1]string // memory for Header.Next: most checkpoints have one at most
}

// A place is where an id's newest revision is.
type place struct {
	thread *thread
	seq    uint64
	row    *row // nil for a gate
}

// New returns an empty index.
func New() *Index { return &Index{content: empty()} }

func empty() content {
	return content{
		threads: map[string]*thread{},
		ids:     map[posthouse.ID]place{},
		rows:    ordered[*row]{cmp: byOrder},
		coords:  map[string]*ordered[*row]{},
		names:   ordered[*thread]{cmp: byName},
		active:  ordered[*thread]{cmp: byName},
		due:     ordered[*thread]{cmp: byDue},
		newest:  ordered[*thread]{cmp: byActivity},
		marks:   ordered[*markRow]{cmp: byMark},
		gates:   map[lists.GateList]*ordered[*openGate]{},
	}
}

func byOrder(a, b *row) int {
	if c := byKey(a, b); c != 0 {
		return c
	}
	return strings.Compare(a.Thread, b.Thread)
}

func byKey(a, b *row) int {
	if c := bytes.Compare(a.Order[:], b.Order[:]); c != 0 {
		return c
	}
	return cmp.Compare(a.Seq, b.Seq)
}

func bySeq(a, b *row) int {
	if c := cmp.Compare(a.Seq, b.Seq); c != 0 {
		return c
	}
	return cmp.Compare(a.ID, b.ID)
}

func byDue(a, b *thread) int {
	return cmp.Or(cmp.Compare(a.info.Due, b.info.Due), byName(a, b))
}

func byActivity(a, b *thread) int { return lists.CompareActivity(&b.info, &a.info) }

func byName(a, b *thread) int { return strings.Compare(a.info.Thread, b.info.Thread) }

// Close empties the index. It reports whether it was open. Later calls and running
// watches fail with [posthouse.ErrClosed].
func (ix *Index) Close() bool {
	ix.Lock()
	defer ix.Unlock()
	if ix.closed {
		return false
	}
	ix.closed, ix.content = true, empty()
	ix.news.Close()
	return true
}

// Replace gives the index the content of another, which is not used any more. Callers
// hold the lock.
func (ix *Index) Replace(by *Index) {
	if !ix.closed {
		ix.content = by.content
		ix.news.Tell()
	}
}

// Usable returns why a call cannot be served, or nil. Callers hold the lock.
func (ix *Index) Usable(ctx context.Context) error {
	if ix.closed {
		return &posthouse.Error{Code: posthouse.CodeClosed, Message: "the store is closed"}
	}
	return ctx.Err()
}

// read takes the lock for one page. The caller gives it back unless there is an error.
func (ix *Index) read(ctx context.Context) error {
	if err := ix.refresh(ctx); err != nil {
		return err
	}
	ix.RLock()
	err := ix.Usable(ctx)
	if err != nil {
		ix.RUnlock()
	}
	return err
}

func (ix *Index) refresh(ctx context.Context) error {
	if ix.Refresh == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return ix.Refresh(ctx)
}

// Last returns the number of the newest commit. Callers hold the lock.
func (ix *Index) Last() uint64 { return ix.last }

// Info returns a thread's summary, to be read only, or nil. Callers hold the lock.
func (ix *Index) Info(name string) *posthouse.ThreadInfo {
	if t := ix.threads[name]; t != nil {
		return &t.info
	}
	return nil
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
func (t *thread) at(seq uint64) *Entry {
	if seq < t.first || seq-t.first >= uint64(len(t.entries)) {
		return nil
	}
	return t.entries[seq-t.first]
}

// isActive reports whether a query for work may match the thread.
func isActive(t *posthouse.ThreadInfo) bool {
	return len(t.Waiting) > 0 || t.Lease.Held || t.Due != 0 || t.Runnable()
}

// Place returns where an id leads. Callers hold the lock.
func (ix *Index) Place(id posthouse.ID) (ref posthouse.Ref, ok bool) {
	p, ok := ix.ids[id]
	if !ok {
		return ref, false
	}
	return posthouse.Ref{Thread: p.thread.info.Thread, Seq: p.seq}, true
}
