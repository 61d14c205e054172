package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/site"
	"github.com/posthouse/posthouse/store/storetest"
)

// A client writes threads of a store, and knows what it was told.
type client struct {
	at      target
	store   posthouse.Store
	builder *storetest.Builder
	logs    []*storetest.Log
	open    []*posthouse.Batch // by thread: with an unknown outcome, or refused
}

// A result is what came of a write.
type result struct {
	Code string        // "": it is acknowledged; of an error of no code, its text
	Took time.Duration // until the answer
}

func newClient(ctx context.Context, at target) (c *client, err error) {
	c = &client{at: at, builder: storetest.NewBuilder()}
	c.store, err = site.Open(ctx, at.URL, at.Timeout)
	return c, err
}

// write appends an entry of a size to each of the first so many threads, all at once. Each
// caller is patient for as long; 0 is forever. A batch that was not acknowledged before is
// appended again instead.
func (c *client) write(ctx context.Context, threads, size int, patience time.Duration) []result {
	for n := len(c.logs); n < threads; n++ {
		c.logs, c.open = append(c.logs, c.builder.Log(fmt.Sprint("t", n))), append(c.open, nil)
	}
	results := make([]result, threads)
	var wg sync.WaitGroup
	for n, l := range c.logs[:threads] {
		if c.open[n] == nil {
			c.open[n] = l.Next(l.Checkpoint(posthouse.Header{}, "state"), l.Step("s", storetest.Filler(size, "value")))
		}
		wg.Go(func() {
			ctx := ctx
			if patience > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, patience)
				defer cancel()
			}
			begun := time.Now()
			err := c.store.Append(ctx, c.open[n])
			results[n].Took = time.Since(begun)
			if err == nil {
				l.Took(c.open[n])
				c.open[n] = nil
				return
			}
			results[n].Code = codeOf(err)
		})
	}
	wg.Wait()
	return results
}

func codeOf(err error) string {
	var e *posthouse.Error
	switch {
	case errors.As(err, &e):
		return string(e.Code)
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	}
	return err.Error()
}

// sound reads every thread, and returns what is wrong: each must have the acknowledged
// entries, once, in their order. An entry with an unknown outcome may be there.
func (c *client) sound(ctx context.Context) (wrong []string) {
	for n, l := range c.logs {
		info := posthouse.ThreadInfo{Thread: l.Info.Thread}
		count := uint64(0)
		for e, err := range c.store.Read(ctx, l.Info.Thread, posthouse.Range{}) {
			if err == nil {
				err = errors.Join(e.Check(), info.Apply(e))
			}
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", l.Info.Thread, err))
				break
			}
			count++
		}
		if have := l.Info.Tail.Seq; count != have && (c.open[n] == nil || count != have+1) {
			wrong = append(wrong, fmt.Sprintf("%s has %d entries, and %d are acknowledged", l.Info.Thread, count, have))
		}
	}
	if checker, ok := c.store.(posthouse.Checker); ok {
		for err := range checker.Check(ctx) {
			wrong = append(wrong, err.Error())
		}
	}
	return wrong
}

// reopen closes the store and opens it again.
func (c *client) reopen(ctx context.Context) (err error) {
	_ = c.store.Close() // it may say what it has suffered
	c.store, err = site.Open(ctx, c.at.URL, c.at.Timeout)
	return err
}
