package db

import (
	"context"
	"iter"
	"math"
)

// An iterator takes its results page by page and holds no connection while the
// caller's code runs. So a slow reader does not keep the write-ahead log from being
// folded in, and a read within a reader's loop needs no second connection. Pages start
// small, since most callers want the first few results.
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

// Add adds a result, of about the given size.
func (p *Page[T]) Add(item T, bytes int) {
	p.Items = append(p.Items, item)
	p.bytes += bytes
}

// Full reports whether to stop. Call it before each row: it counts the rows.
func (p *Page[T]) Full() bool {
	p.looked++
	return len(p.Items) >= p.Want || p.bytes >= maxPageBytes || p.looked > maxLooked
}

// A Reader runs fn on a connection in a read transaction. Its errors name doing.
type Reader func(ctx context.Context, doing string, fn func(*Conn) error) error

// Pages yields what next collects, until next reports that nothing is left. It yields
// at most limit results; 0 means all. Each call of next runs in a read transaction of
// its own and goes on where the one before stopped. next may return results together
// with an error, which Pages yields after them.
func Pages[T any](ctx context.Context, read Reader, doing string, limit int, next func(*Conn, *Page[T]) (more bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		size := firstPage
		if limit <= 0 {
			limit = math.MaxInt
		} else {
			size = min(limit, MaxPage)
		}
		var items []T
		for more := true; more && limit > 0; size = min(size*4, MaxPage) {
			p := Page[T]{Items: items[:0], Want: min(size, limit)}
			err := read(ctx, doing, func(c *Conn) (err error) {
				more, err = next(c, &p)
				return err
			})
			// Checkpoints with one order key are added together, which may exceed the limit.
			for _, item := range p.Items[:min(len(p.Items), limit)] {
				if !yield(item, nil) {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			limit -= len(p.Items)
			items = p.Items
		}
	}
}
