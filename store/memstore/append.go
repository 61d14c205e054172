package memstore

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/memindex"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// Append implements [posthouse.Store].
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := valid.Batch(b); err != nil {
		return err
	}
	return s.put(ctx, []*posthouse.Batch{b})
}

// AppendAll implements [posthouse.BulkAppender].
func (s *Store) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	if err := valid.Batches(bs); err != nil {
		return err
	}
	return s.put(ctx, bs)
}

// put appends all entries of one thread or fails without a change: it checks all
// of them first.
func (s *Store) put(ctx context.Context, bs []*posthouse.Batch) error {
	var few [1]memindex.Incoming
	in := few[:0]
	for _, b := range bs {
		in = append(in, memindex.Take(b, cloneEntry(b.Entry, true)))
	}
	s.index.Lock()
	defer s.index.Unlock()
	if err := s.index.Usable(ctx); err != nil {
		return err
	}
	fresh, err := s.index.Admit(bs)
	if err != nil || len(fresh) == 0 {
		return err
	}
	for _, one := range in[len(in)-len(fresh):] {
		s.index.Add(one)
	}
	s.index.Wake()
	return nil
}
