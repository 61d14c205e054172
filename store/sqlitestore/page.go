package sqlitestore

import (
	"context"
	"errors"
	"iter"
)

// An iterator takes its results page by page and holds no connection while the
// caller's code runs: a slow reader does not hold up the write-ahead log, and
// reading within a reader's loop needs no second connection. Pages start small,
// since most callers want the first few results.
const (
	firstPage    = 16
	lastPage     = 512
	maxPageBytes = 1 << 20
	maxLooked    = 4096 // rows passed over in one page
)

// A page collects results.
type page[T any] struct {
	items  []T
	want   int // how many results at most
	bytes  int
	looked int
}

func (p *page[T]) add(item T, bytes int) {
	p.items = append(p.items, item)
	p.bytes += bytes
}

// full reports whether to stop; it is asked before each row.
func (p *page[T]) full() bool {
	p.looked++
	return len(p.items) >= p.want || p.bytes >= maxPageBytes || p.looked > maxLooked
}

// pages yields what next collects, call after call, until it reports that
// nothing is left, at most limit results (0: all). Each call of next runs in a
// read transaction of its own and goes on where the one before stopped. Its
// last results may come with an error.
func pages[T any](ctx context.Context, s *Store, doing string, limit int, next func(*conn, *page[T]) (more bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		size := firstPage
		if limit <= 0 {
			limit = int(^uint(0) >> 1)
		} else {
			size = min(limit, lastPage) // so many are wanted
		}
		var items []T
		for more := true; more && limit > 0; size = min(size*4, lastPage) {
			p := page[T]{items: items[:0], want: min(size, limit)}
			err := s.read(ctx, doing, func(c *conn) (err error) {
				more, err = next(c, &p)
				return err
			})
			// Checkpoints with one order key come together, also beyond the limit.
			for _, item := range p.items[:min(len(p.items), limit)] {
				if !yield(item, nil) {
					return
				}
			}
			if err != nil {
				yield(none, err)
				return
			}
			limit -= len(p.items)
			items = p.items
		}
	}
}

// read runs fn on a connection in a read transaction.
func (s *Store) read(ctx context.Context, doing string, fn func(*conn) error) error {
	return s.lend(ctx, doing, func(c *conn) error { return c.snapshot(fn) })
}

// lend runs fn on a connection. A single statement needs no more: it sees one
// state of the database as it is.
func (s *Store) lend(ctx context.Context, doing string, fn func(*conn) error) error {
	if s.closed.Load() {
		return s.closedError()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.readers.get(ctx)
	if errors.Is(err, errPoolClosed) {
		return s.closedError()
	}
	if err != nil {
		return s.wrap(doing, err)
	}
	err = fn(c)
	s.readers.put(c, err != nil && !refused(err) && ctx.Err() == nil)
	return s.wrap(doing, err)
}

func (c *conn) snapshot(fn func(*conn) error) error {
	if err := c.do(qBeginRead); err != nil {
		return err
	}
	err := fn(c)
	return first(err, c.do(qCommit))
}
