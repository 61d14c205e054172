package session

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

// A writeBehind commits drafts in the background, in order.
type writeBehind struct {
	mu      sync.Mutex
	queue   chan *ledger.Draft // nil: nothing is to be committed
	err     error              // of the first write that failed: nothing is written after it
	pending sync.WaitGroup
}

// CommitLater commits a draft in the background, in order. It blocks while MaxBehind of
// them wait. It copies what the caller may use again, but not the parts' data. Whatever
// else the session writes comes after it. An error is that of an earlier draft: no later
// one is written, except those that wait when the run is found to be cancelled. Calls
// must not overlap with each other or with [Session.End].
func (s *Session) CommitLater(ctx context.Context, d ledger.Draft) error {
	queue, err := s.behind.begin(ctx, s)
	if err != nil {
		return err
	}
	c := *d.Checkpoint
	c.Parts, c.Program = slices.Clone(c.Parts), slices.Clone(c.Program)
	d.Checkpoint = &c
	s.behind.pending.Add(1)
	queue <- &d
	return nil
}

// Flush waits until all that was to be committed later is durable.
func (s *Session) Flush() error {
	if !s.behind.wait() {
		return nil
	}
	return s.behind.failed()
}

// begin returns the queue, and why nothing more is written.
func (b *writeBehind) begin(ctx context.Context, s *Session) (chan<- *ledger.Draft, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queue == nil {
		b.queue, b.err = make(chan *ledger.Draft, MaxBehind), nil
		go b.write(ctx, s, b.queue)
	}
	return b.queue, b.err
}

// write commits what is in a queue until it is closed.
func (b *writeBehind) write(ctx context.Context, s *Session, queue <-chan *ledger.Draft) {
	for d := range queue {
		err := b.failed()
		d.AfterCancel = errors.Is(err, posthouse.ErrCancelled)
		if err == nil || d.AfterCancel {
			b.fail(b.commit(ctx, s, d, err))
		}
		b.pending.Done()
	}
}

// commit commits one draft. It returns before, or the error that takes its place.
func (*writeBehind) commit(ctx context.Context, s *Session, d *ledger.Draft, before error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.commitLocked(ctx, d)
	if errors.Is(err, posthouse.ErrCancelled) && !d.AfterCancel { // it was done before the request arrived
		d.AfterCancel, before = true, err
		_, err = s.commitLocked(ctx, d)
	}
	if err != nil {
		return err
	}
	return before
}

func (b *writeBehind) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

func (b *writeBehind) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

// wait waits until the queue is empty. It returns false if there is no queue.
func (b *writeBehind) wait() bool {
	b.mu.Lock()
	queue := b.queue
	b.mu.Unlock()
	if queue == nil {
		return false
	}
	b.pending.Wait()
	return true
}

// stop ends the queue once all in it is written.
func (b *writeBehind) stop() {
	b.mu.Lock()
	queue := b.queue
	b.queue = nil
	b.mu.Unlock()
	if queue != nil {
		close(queue)
		b.pending.Wait()
	}
}
