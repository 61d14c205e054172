package memstore

import (
	"bytes"
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
	life string // in cursors: commit numbers of another Store start at 1 again

	mu      sync.RWMutex
	closed  bool
	threads map[string]*thread
	ids     map[posthouse.ID]place
	slots   map[string]map[string]*slot // by thread and step

	rows   ordered[*row]             // all checkpoints, by order key
	coords map[string]*ordered[*row] // the same, by coordination
	names  ordered[*thread]          // all threads, by name
	active ordered[*thread]          // threads that queries for work may match
	due    ordered[*thread]          // threads with something due, by due time
	gates  map[posthouse.GateList]*ordered[*openGate]

	commits []*entry      // in commit order, some of them gone
	gone    int           // how many of commits are gone
	last    uint64        // number of the newest commit
	wake    chan struct{} // closed at the next commit; nil while nobody waits
}

var (
	_ posthouse.Store        = (*Store)(nil)
	_ posthouse.Watcher      = (*Store)(nil)
	_ posthouse.Checker      = (*Store)(nil)
	_ posthouse.SlotLister   = (*Store)(nil)
	_ posthouse.BulkAppender = (*Store)(nil)
)

type thread struct {
	info    posthouse.ThreadInfo
	first   uint64        // sequence of entries[0]
	entries []*entry      // nil where a released version was dropped
	rows    ordered[*row] // its checkpoints, by sequence
	open    []*openGate   // as info.Waiting
}

// An entry never changes. A removal of bodies replaces it.
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

func byName(a, b *thread) int { return strings.Compare(a.info.Thread, b.info.Thread) }

// Close empties the store. Later calls and running watches fail with
// [posthouse.ErrClosed].
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

// usable returns why a call cannot be served, or nil. Callers hold s.mu.
func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return &posthouse.Error{Code: posthouse.CodeClosed, Message: "the store is closed"}
	}
	return ctx.Err()
}
