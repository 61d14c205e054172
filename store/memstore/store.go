package memstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
)

// A Store keeps threads in memory. It also implements [posthouse.Watcher],
// [posthouse.Checker], [posthouse.SlotLister] and [posthouse.BulkAppender]. Make
// one with [New].
type Store struct {
	life string // told apart in cursors: the next Store starts at 1 again

	mu      sync.RWMutex
	closed  bool
	threads map[string]*thread
	ids     map[posthouse.ID]place
	slots   map[string]map[string]*slot // by thread and step

	rows   ordered[*row]             // all checkpoints, by order key
	coords map[string]*ordered[*row] // the same, by coordination
	names  ordered[*thread]          // all threads, by name
	active ordered[*thread]          // those that queries for work look for
	due    ordered[*thread]          // those with something due, by when
	gates  map[posthouse.GateList]*ordered[*openGate]

	commits []*entry      // in commit order, some of them gone
	gone    int           // how many
	last    uint64        // number of the newest commit
	wake    chan struct{} // closed at the next commit, if anybody waits for it
}

var (
	_ posthouse.Store        = (*Store)(nil)
	_ posthouse.Watcher      = (*Store)(nil)
	_ posthouse.Checker      = (*Store)(nil)
	_ posthouse.SlotLister   = (*Store)(nil)
	_ posthouse.BulkAppender = (*Store)(nil)
)

// A thread is one log with its summary.
type thread struct {
	info    posthouse.ThreadInfo
	first   uint64        // sequence of entries[0]
	entries []*entry      // nil where a released version was dropped
	rows    ordered[*row] // its checkpoints, by sequence
	open    []*openGate   // as info.Waiting
}

// An entry never changes; a removal of bodies puts another in its place.
type entry struct {
	posthouse.Entry
	ids    []posthouse.ID // that it brought to the index
	commit uint64
	gone   bool // removed; guarded by Store.mu
}

// A row is an indexed checkpoint. It never changes.
type row struct {
	posthouse.Header
}

// A place is where an id's newest revision is.
type place struct {
	thread *thread
	seq    uint64
	row    *row // nil for a gate
}

// New returns an empty store.
func New() *Store {
	var life [4]byte
	_, _ = rand.Read(life[:]) // never fails: crypto/rand aborts the program instead
	return &Store{
		life:    hex.EncodeToString(life[:]),
		threads: map[string]*thread{},
		ids:     map[posthouse.ID]place{},
		slots:   map[string]map[string]*slot{},
		rows:    ordered[*row]{cmp: byOrder},
		coords:  map[string]*ordered[*row]{},
		names:   ordered[*thread]{cmp: byName},
		active:  ordered[*thread]{cmp: byName},
		due:     ordered[*thread]{cmp: byDue},
		gates:   map[posthouse.GateList]*ordered[*openGate]{},
	}
}

func byOrder(a, b *row) int {
	if c := byKey(a.Order, a.Seq, b.Order, b.Seq); c != 0 {
		return c
	}
	return strings.Compare(a.Thread, b.Thread)
}

func byKey(a posthouse.OrderKey, aseq uint64, b posthouse.OrderKey, bseq uint64) int {
	for i := range a {
		if a[i] != b[i] {
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(aseq, bseq)
}

func bySeq(a, b *row) int {
	if c := cmp.Compare(a.Seq, b.Seq); c != 0 {
		return c
	}
	return strings.Compare(string(a.ID), string(b.ID))
}

func byDue(a, b *thread) int {
	return cmp.Or(cmp.Compare(a.info.Due, b.info.Due), byName(a, b))
}

func byName(a, b *thread) int { return strings.Compare(a.info.Thread, b.info.Thread) }

// Close empties the store. Later calls fail with [posthouse.ErrClosed], and
// watchers end with it.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed, s.threads, s.ids, s.slots, s.coords, s.commits, s.gates = true, nil, nil, nil, nil, nil, nil
	s.rows, s.names, s.active, s.due = ordered[*row]{}, ordered[*thread]{}, ordered[*thread]{}, ordered[*thread]{}
	s.wakeAll()
	return nil
}

// usable says why a call cannot be served. Callers hold s.mu.
func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return &posthouse.Error{Code: posthouse.CodeClosed, Message: "the store is closed"}
	}
	return ctx.Err()
}
