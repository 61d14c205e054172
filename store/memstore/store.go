package memstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/memindex"
)

// A Store keeps threads in memory. It also implements [posthouse.Watcher],
// [posthouse.Checker], [posthouse.SlotLister] and [posthouse.BulkAppender]. Make
// one with [New].
type Store struct {
	life string // in cursors: commit numbers of another Store start at 1 again

	index *memindex.Index
	slots map[string]map[string]*slot // by thread and step; guarded by the index's lock
}

var (
	_ posthouse.Store        = (*Store)(nil)
	_ posthouse.Watcher      = (*Store)(nil)
	_ posthouse.Checker      = (*Store)(nil)
	_ posthouse.SlotLister   = (*Store)(nil)
	_ posthouse.BulkAppender = (*Store)(nil)
	_ posthouse.Informer     = (*Store)(nil)
)

// An entry never changes. A removal of bodies replaces it.
type entry = memindex.Entry

func contentOf(e *entry) *posthouse.Entry { return *memindex.Data[*posthouse.Entry](e) }

// New returns an empty store.
func New() *Store {
	var life [4]byte
	_, _ = rand.Read(life[:]) // never fails: crypto/rand aborts the program instead
	return &Store{
		life: hex.EncodeToString(life[:]), index: memindex.New(), slots: map[string]map[string]*slot{},
	}
}

// Close empties the store. Later calls and running watches fail with
// [posthouse.ErrClosed].
func (s *Store) Close() error {
	if s.index.Close() {
		s.index.Lock()
		defer s.index.Unlock()
		s.slots = nil
	}
	return nil
}

// Info implements [posthouse.Informer].
func (s *Store) Info(ctx context.Context) (kind, promise string, bytes int64, err error) {
	return "memory", "nothing outlives the process", 0, ctx.Err()
}
