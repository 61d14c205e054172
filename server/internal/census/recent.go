package census

import (
	"context"
	"sync"
	"time"
)

const (
	every    = 15 * time.Second // between two counts
	share    = 20               // of the time, one count takes at most one in so much
	patience = time.Second      // how long a reader waits for a count
	longest  = time.Minute      // of one count
)

// A Recent counts something of a store at most each 15 seconds, and less often where a count takes
// long. Make it with [NewRecent].
type Recent[T any] struct {
	count func(context.Context) (T, error)
	now   func() time.Time
	enter func() (context.Context, func(), error) // begins work that the server's end waits for

	mu      sync.Mutex
	last    T     // zero: nothing was counted yet
	err     error // of the newest count
	next    time.Time
	running chan struct{} // closed when the count that runs is over; nil: no count runs
}

// NewRecent returns what count finds, now and then. Enter returns the context of a count and what is
// called at its end.
func NewRecent[T any](count func(context.Context) (T, error), now func() time.Time, enter func() (context.Context, func(), error)) *Recent[T] {
	return &Recent[T]{count: count, now: now, enter: enter}
}

// Get returns the newest result, zero before the first, and why the newest count failed. It
// begins another count if it is time, and waits a second for it at most.
func (c *Recent[T]) Get(ctx context.Context) (T, error) {
	if done := c.begin(); done != nil {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.err
}

// begin starts a count if it is time, and returns what is closed when the count that runs is
// over, nil if no count runs.
func (c *Recent[T]) begin() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil || c.now().Before(c.next) {
		return c.running
	}
	ctx, leave, err := c.enter()
	if err != nil {
		c.err = err
		return nil
	}
	done := make(chan struct{})
	c.running = done
	go func() {
		defer leave()
		c.run(ctx)
		close(done)
	}()
	return done
}

// run counts once and keeps what was found.
func (c *Recent[T]) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	begun := c.now()
	found, err := c.count(ctx)
	ended := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.last = found
	}
	c.err, c.running = err, nil
	c.next = ended.Add(max(every, share*ended.Sub(begun)))
}
