package core

import (
	"context"

	"github.com/posthouse/posthouse"
)

// Cached returns how many threads the Ledger knows of, and the bytes of state
// and step results that it reckons they hold.
func (c *Core) Cached() (threads, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.threads), c.cached
}

// EvictIdle does what the Ledger does when it holds too much.
func (c *Core) EvictIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evict(0, 0)
}

// MaxThreads is how many threads a Ledger knows of at most, claimed ones aside.
const MaxThreads = maxThreads

// FetchAll reads a thread's log with bodies, then without, by one reader, and
// returns how many entries have their bodies and how many bytes are counted.
func (c *Core) FetchAll(ctx context.Context, thread string) (withBodies, size int, err error) {
	r := c.Reader(ctx, thread)
	for _, headers := range []bool{false, true, false} {
		if err := r.Fetch(posthouse.Range{Headers: headers}); err != nil {
			return 0, 0, err
		}
	}
	for _, e := range r.Have {
		if e.bodies && len(e.Bodies) > 0 {
			withBodies++
		}
	}
	return withBodies, r.Size, nil
}
