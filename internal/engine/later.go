package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
)

// MaxBehind is how many drafts [Session.CommitLater] lets wait at most.
const MaxBehind = 64

// A later is what a session has yet to write.
type later struct {
	queue   chan *posthouse.Draft
	pending sync.WaitGroup
	ended   sync.WaitGroup
	mu      sync.Mutex
	err     error // of the first that failed: none is written after it
}

// CommitLater commits a draft behind the caller's back, in order, and blocks
// while MaxBehind of them wait. It takes copies of what the caller may use
// again, but not of the parts' data. Whatever else the session writes comes
// after it. An error is of an earlier draft: then neither this one nor any
// other is written, but for those that wait when the run is found to be
// cancelled. It must not be called at once with itself or with
// [Session.End].
func (s *Session) CommitLater(ctx context.Context, d posthouse.Draft) error {
	s.mu.Lock()
	if s.later == nil {
		l := &later{queue: make(chan *posthouse.Draft, MaxBehind)}
		s.later = l
		l.ended.Go(func() { s.writeLater(ctx, l) })
	}
	l := s.later
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

func (s *Session) writeLater(ctx context.Context, l *later) {
	for d := range l.queue {
		err := l.failed()
		if d.Late = errors.Is(err, posthouse.ErrCancelled); err == nil || d.Late {
			s.mu.Lock()
			_, e := s.commit(ctx, d)
			if errors.Is(e, posthouse.ErrCancelled) && !d.Late { // it was done before the request was heard
				d.Late, err = true, e
				_, e = s.commit(ctx, d)
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

func (l *later) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Flush waits until all that was to be committed later is durable.
func (s *Session) Flush() error {
	s.mu.Lock()
	l := s.later
	s.mu.Unlock()
	if l == nil {
		return nil
	}
	l.pending.Wait()
	return l.failed()
}

// stopLater ends the writer, if there is one.
func (s *Session) stopLater() {
	s.mu.Lock()
	l := s.later
	s.later = nil
	s.mu.Unlock()
	if l != nil {
		close(l.queue)
		l.ended.Wait()
	}
}
