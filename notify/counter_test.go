package notify_test

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/posthouse/posthouse"
)

// A counter counts the entries that watches of a store read.
type counter struct {
	posthouse.Store
	n atomic.Int64
}

func (c *counter) read() int { return int(c.n.Load()) }

func (c *counter) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	watch := c.Store.(posthouse.Watcher).Watch(ctx, cursor)
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range watch {
			c.n.Add(1)
			if !yield(e, err) {
				return
			}
		}
	}
}
