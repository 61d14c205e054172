package db

import (
	"context"
	"iter"
)

// An iterator takes its results page by page and holds no connection while the
// caller's code runs: a slow reader does not hold up the write-ahead log, and
// reading within a reader's loop needs no second connection. Pages start small,
// since most callers want the first few results.
const (
	firstPage    = 16
	MaxPage      = 512
	maxPageBytes = 1 << 20
	maxLooked    = 4096 // rows passed over in one page
)

// A Page collects results.
type Page[T any] struct {
	Items  []T
	Want   int // how many results at most
	bytes  int
	looked int
}

// Add adds a result of about so many bytes.
func (p *Page[T]) Add(item T, bytes int) {
	p.Items = append(p.Items, item)
	p.bytes += bytes
}

// Full reports whether to stop; it is asked before each row.
func (p *Page[T]) Full() bool {
	p.looked++
	return len(p.Items) >= p.Want || p.bytes >= maxPageBytes || p.looked > maxLooked
}

// A Reader runs fn on a connection in a read transaction; doing is for its errors.
type Reader func(ctx context.Context, doing string, fn func(*Conn) error) error

// Pages yields what next collects, call after call, until it reports that
// nothing is left, at most limit results (0: all). Each call of next runs in a
// read transaction of its own and goes on where the one before stopped. Its
// last results may come with an error.
func Pages[T any](ctx context.Context, read Reader, doing string, limit int, next func(*Conn, *Page[T]) (more bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		size := firstPage
		if limit <= 0 {
			limit = int(^uint(0) >> 1)
		} else {
			size = min(limit, MaxPage) // so many are wanted
		}
		var items []T
		for more := true; more && limit > 0; size = min(size*4, MaxPage) {
			p := Page[T]{Items: items[:0], Want: min(size, limit)}
			err := read(ctx, doing, func(c *Conn) (err error) {
				more, err = next(c, &p)
				return err
			})
			// Checkpoints with one order key come together, also beyond the limit.
			for _, item := range p.Items[:min(len(p.Items), limit)] {
				if !yield(item, nil) {
					return
				}
			}
			if err != nil {
				yield(none, err)
				return
			}
			limit -= len(p.Items)
			items = p.Items
		}
	}
}
