package memstore

import (
	"context"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/memindex"
)

// Read implements [posthouse.Store].
func (s *Store) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	next := func(n int) ([]*entry, bool, error) { return s.index.Entries(ctx, thread, &r, n) }
	return memindex.Pages(r.Limit, next, func(e *entry) *posthouse.Entry {
		return cloneEntry(contentOf(e), !r.Headers)
	})
}

// Find implements [posthouse.Store].
func (s *Store) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	return s.index.Find(ctx, id)
}

// List implements [posthouse.Store].
func (s *Store) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return s.index.List(ctx, q)
}

// Threads implements [posthouse.Store].
func (s *Store) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return s.index.Threads(ctx, q)
}

// Check implements [posthouse.Checker]. It verifies each entry, folds the log into a
// summary, and compares the summary and the index with the stored ones.
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return s.index.Check(ctx, func(e *entry) (*posthouse.Entry, error) { return contentOf(e), nil })
}
