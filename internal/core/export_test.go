package core

import (
	"context"

	"github.com/posthouse/posthouse"
)

// Cached returns how many threads the Ledger knows of, and the bytes of state
// and step results that it reckons they hold.
func (l *Core) Cached() (threads, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.threads), l.cached
}

// EvictIdle does what the Ledger does when it holds too much.
func (l *Core) EvictIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.evict(0, 0)
}

// MaxThreads is how many threads a Ledger knows of at most, claimed ones aside.
const MaxThreads = maxThreads

// FetchAll reads a thread's log with bodies, then without, by one reader, and
// returns how many entries have their bodies and how many bytes are counted.
func (l *Core) FetchAll(ctx context.Context, thread string) (withBodies, size int, err error) {
	r := l.Reader(ctx, thread)
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
