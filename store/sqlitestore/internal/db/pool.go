package db

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// A Pool lends connections, which it opens when they are first needed. No caller keeps
// one while foreign code runs, so a read inside another read's loop cannot deadlock.
type Pool struct {
	open  func() (*Conn, error)
	slots chan struct{} // one token for each connection lent
	done  chan struct{}

	mu   sync.Mutex
	idle []*Conn
}

// ErrClosed is the error of a closed pool.
var ErrClosed = errors.New("closed")

// NewPool returns a pool of up to n connections that begins with one.
func NewPool(n int, one *Conn, open func() (*Conn, error)) *Pool {
	return &Pool{open: open, slots: make(chan struct{}, n), done: make(chan struct{}), idle: []*Conn{one}}
}

// Get takes a connection out. It waits while all are lent.
func (p *Pool) Get(ctx context.Context) (*Conn, error) {
	select {
	case <-p.done:
		return nil, ErrClosed
	default:
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.done:
		return nil, ErrClosed
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

// Put takes a connection back. It closes a connection that failed.
func (p *Pool) Put(c *Conn, failed bool) {
	if failed {
		_ = c.Close()
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	<-p.slots
}

// Close waits for the connections lent and closes all. It closes connections that may
// write last: only such a connection folds the write-ahead log in and removes it.
func (p *Pool) Close() error {
	close(p.done)
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	slices.SortStableFunc(p.idle, func(a, b *Conn) int { return int(b.mode) - int(a.mode) })
	for _, c := range p.idle {
		errs = append(errs, c.Close())
	}
	return cmp.Or(errs...)
}
