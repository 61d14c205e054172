package shared

import (
	"context"
	"errors"
	"sync"
)

// Calls lets callers that ask for the same at the same time share one call of a function. The zero value is
// ready for use.
type Calls[K comparable, V any] struct {
	mu     sync.Mutex
	queues map[K]*queue[V]
}

// A queue has the call of a key that runs, and the one that runs after it.
type queue[V any] struct{ running, next *call[V] }

type call[V any] struct {
	lead chan struct{} // has one value when it is the call's turn: the caller that takes it runs the call
	done chan struct{} // closed at its end

	callers int
	cancel  context.CancelFunc // nil before it runs
	over    bool

	value V
	err   error
}

var errPanic = errors.New("the call that was to answer this one, too, panicked")

// Do calls fn, or waits for a call with this key that began after Do did, and returns what that
// returned. All its callers have the same value, so it must not be changed. The context of fn is done when those of all callers are,
// and has the values of one of them. A caller that waits returns once its own context is done.
func (s *Calls[K, V]) Do(ctx context.Context, key K, fn func(context.Context) (V, error)) (V, error) {
	c := s.join(key)
	select {
	case <-c.lead:
		return s.run(ctx, key, c, fn)
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
		s.leave(key, c)
		var none V
		return none, context.Cause(ctx)
	}
}

// join returns the call that the caller waits for, or runs.
func (s *Calls[K, V]) join(key K) *call[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues == nil {
		s.queues = map[K]*queue[V]{}
	}
	q := s.queues[key]
	if q == nil {
		q = &queue[V]{}
		s.queues[key] = q
	}
	if q.next == nil {
		q.next = &call[V]{lead: make(chan struct{}, 1), done: make(chan struct{})}
	}
	c := q.next
	c.callers++
	if q.running == nil {
		s.advance(key, q)
	}
	return c
}

// advance makes it the next call's turn.
func (s *Calls[K, V]) advance(key K, q *queue[V]) {
	q.running, q.next = q.next, nil
	if q.running == nil {
		delete(s.queues, key)
		return
	}
	q.running.lead <- struct{}{}
}

func (s *Calls[K, V]) run(ctx context.Context, key K, c *call[V], fn func(context.Context) (V, error)) (V, error) {
	all, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s.mu.Lock()
	c.cancel = cancel
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { s.leave(key, c) })
	defer stop()
	c.err = errPanic
	defer s.end(key, c)
	c.value, c.err = fn(all)
	return c.value, c.err
}

func (s *Calls[K, V]) end(key K, c *call[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.over = true
	close(c.done)
	s.advance(key, s.queues[key])
}

// leave ends a call that has no callers any more.
func (s *Calls[K, V]) leave(key K, c *call[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.callers--; c.callers > 0 || c.over {
		return
	}
	switch q := s.queues[key]; {
	case q.next == c:
		q.next = nil
	case c.cancel != nil:
		c.cancel()
	default: // it is its turn, and its last caller does not take it
		s.advance(key, q)
	}
}
