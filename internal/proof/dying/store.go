package dying

import (
	"context"
	"sync/atomic"

	"github.com/posthouse/posthouse"
)

// A Store loses its process at an append: that one is made or not, and no later
// one is. Closing it leaves the store below open for the next process.
type Store struct {
	posthouse.Store
	left atomic.Int64 // appends to come; 0 or below: it lives
	made atomic.Bool
	dead atomic.Bool
}

// New returns a store over s. [Store.Die] sets the append at which it is lost.
func New(s posthouse.Store) *Store { return &Store{Store: s} }

// Die makes the n-th append from here the last one, made or not; 0: no append is the
// last.
func (s *Store) Die(n int, made bool) {
	s.made.Store(made)
	s.left.Store(int64(n))
}

// Spare stops counting appends until the function it returns is called, as if
// another process made them.
func (s *Store) Spare() (over func()) {
	left := s.left.Swap(0)
	return func() { s.left.Store(left) }
}

// Dead reports whether the process is lost.
func (s *Store) Dead() bool { return s.dead.Load() }

// Append implements [posthouse.Store]: [posthouse.ErrUnknown] from the loss on.
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	gone := &posthouse.Error{Code: posthouse.CodeUnknown, Message: "the process is gone"}
	if s.dead.Load() {
		return gone
	}
	if s.left.Add(-1) == 0 {
		s.dead.Store(true)
		if s.made.Load() {
			_ = s.Store.Append(ctx, b)
		}
		return gone
	}
	return s.Store.Append(ctx, b)
}

// Close implements [posthouse.Store].
func (s *Store) Close() error { return nil }
