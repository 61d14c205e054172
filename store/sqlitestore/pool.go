package sqlitestore

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// A pool lends connections. They are opened when first needed; nobody keeps
// one while the caller's code runs, so a read inside another read's loop
// cannot wait for itself.
type pool struct {
	open  func() (*conn, error)
	slots chan struct{} // one token for each connection lent
	done  chan struct{}

	mu   sync.Mutex
	idle []*conn
}

var errPoolClosed = errors.New("closed")

func newPool(n int, open func() (*conn, error)) *pool {
	return &pool{open: open, slots: make(chan struct{}, n), done: make(chan struct{})}
}

func (p *pool) get(ctx context.Context) (*conn, error) {
	select {
	case <-p.done:
		return nil, errPoolClosed
	default:
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.done:
		return nil, errPoolClosed
	}
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	c, err := p.open()
	if err != nil {
		<-p.slots
		return nil, err
	}
	return c, nil
}

// put takes a connection back; one that failed is closed.
func (p *pool) put(c *conn, failed bool) {
	if failed {
		_ = c.Close()
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	<-p.slots
}

// close waits for the connections lent and closes all. The last to go is one
// that may write, if there is one: only such a connection folds the write-ahead
// log in and removes it.
func (p *pool) close() error {
	close(p.done)
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	slices.SortStableFunc(p.idle, func(a, b *conn) int { return int(b.mode) - int(a.mode) })
	for _, c := range p.idle {
		errs = append(errs, c.Close())
	}
	return first(errs...)
}
