package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// MaxBehind is how many drafts [Session.CommitLater] lets wait at most.
const MaxBehind = 64

// A writeBehind is what a session has yet to write.
type writeBehind struct {
	queue   chan *ledger.Draft
	pending sync.WaitGroup
	mu      sync.Mutex
	err     error // of the first that failed: none is written after it
}

// CommitLater commits a draft in the background, in order. It blocks while MaxBehind of
// them wait. It copies what the caller may use again, but not the parts' data. Whatever
// else the session writes comes after it. An error is that of an earlier draft: no later
// one is written, except those that wait when the run is found to be cancelled. Calls
// must not overlap with each other or with [Session.End].
func (s *Session) CommitLater(ctx context.Context, d ledger.Draft) error {
	s.mu.Lock()
	if s.behind == nil {
		l := &writeBehind{queue: make(chan *ledger.Draft, MaxBehind)}
		s.behind = l
		go s.writeNext(ctx, l)
	}
	l := s.behind
	s.mu.Unlock()
	if err := l.failed(); err != nil {
		return err
	}
	c := *d.Checkpoint
	c.Parts, c.Program = slices.Clone(c.Parts), slices.Clone(c.Program)
	d.Checkpoint = &c
	l.pending.Add(1)
	l.queue <- &d
	return nil
}

func (s *Session) writeNext(ctx context.Context, l *writeBehind) {
	for d := range l.queue {
		err := l.failed()
		if d.Late = errors.Is(err, posthouse.ErrCancelled); err == nil || d.Late {
			s.mu.Lock()
			_, e := s.commitLocked(ctx, d)
			if errors.Is(e, posthouse.ErrCancelled) && !d.Late { // it was done before the request arrived
				d.Late, err = true, e
				_, e = s.commitLocked(ctx, d)
			}
			s.mu.Unlock()
			if e != nil {
				err = e
			}
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
		}
		l.pending.Done()
	}
}

func (l *writeBehind) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Flush waits until all that was to be committed later is durable.
func (s *Session) Flush() error {
	s.mu.Lock()
	l := s.behind
	s.mu.Unlock()
	if l == nil {
		return nil
	}
	l.pending.Wait()
	return l.failed()
}

func (s *Session) stopWriteBehind() {
	s.mu.Lock()
	l := s.behind
	s.behind = nil
	s.mu.Unlock()
	if l != nil {
		close(l.queue)
		l.pending.Wait()
	}
}
