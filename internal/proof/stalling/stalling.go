package stalling

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// A Store is a connection to a store below, which others use, too. Closing it leaves that
// open. It is safe for concurrent use.
type Store struct {
	posthouse.Store

	mu   sync.Mutex
	back chan struct{} // closed when the connection is back; nil: it is there
	left int           // appends until it stalls; 0: it does not stall
}

// New returns a store over s.
func New(s posthouse.Store) *Store { return &Store{Store: s} }

// Cut stalls the connection.
func (s *Store) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back == nil {
		s.back = make(chan struct{})
	}
}

// CutAfter stalls the connection once the n-th append from here is made.
func (s *Store) CutAfter(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = n
}

// Heal has the connection go on.
func (s *Store) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back != nil {
		close(s.back)
		s.back = nil
	}
}

// late is how long after the other answers that of an append arrives.
const late = 30 * time.Millisecond

func (s *Store) wait(then time.Duration) {
	s.mu.Lock()
	back := s.back
	s.mu.Unlock()
	if back != nil {
		<-back
		<-time.After(then)
	}
}

// Append implements [posthouse.Store].
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	err := s.Store.Append(ctx, b)
	s.mu.Lock()
	cut := s.left == 1
	s.left = max(s.left-1, 0)
	s.mu.Unlock()
	if cut {
		s.Cut()
	}
	s.wait(late)
	return err
}

// Slot implements [posthouse.Store].
func (s *Store) Slot(ctx context.Context, k posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	s.wait(0)
	return s.Store.Slot(ctx, k, op)
}

// Threads implements [posthouse.Store].
func (s *Store) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	s.wait(0)
	return s.Store.Threads(ctx, q)
}

// Close implements [posthouse.Store].
func (s *Store) Close() error { return nil }
