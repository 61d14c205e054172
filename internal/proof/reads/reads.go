package reads

import (
	"context"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
)

// A Counter counts what is read of a store in memory: entries, headers, summaries and places of ids.
// It is for one goroutine at a time.
type Counter struct {
	*memstore.Store
	N int // of them; a test sets it to 0 where it begins to count
}

// Read counts the entries.
func (c *Counter) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return counted(c, c.Store.Read(ctx, thread, r))
}

// List counts the headers.
func (c *Counter) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return counted(c, c.Store.List(ctx, q))
}

// Threads counts the summaries.
func (c *Counter) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return counted(c, c.Store.Threads(ctx, q))
}

// Find counts the call.
func (c *Counter) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	c.N++
	return c.Store.Find(ctx, id)
}

func counted[T any](c *Counter, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			c.N++
			if !yield(v, err) {
				return
			}
		}
	}
}
