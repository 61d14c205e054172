package inbox

import (
	"context"

	"github.com/posthouse/posthouse/ledger"
)

// A Walk reads the questions that a query finds, within a bound.
type Walk struct {
	Most int // how many questions are read at most, in all calls of Read

	// Memory keeps what is read, for other walks. nil: all is read again. With it a gate that is found says who may
	// decide it, who did and when, and nothing of what is asked: it has no text, payload, labels, notices, reasons
	// and values, is shared with other walks, and must not be changed. For a query by such content, by an assignee,
	// a coordination or a checkpoint, or in the order of deadlines, gates are read as without it, and so they are
	// with the Memory of a query alone.
	Memory *Memory

	Looked int  // how many were
	More   bool // there may be others
}

const (
	walkLook = 200_000 // so much is looked at, whatever is found,
	walkEach = 100     // and for each question so many entries more
)

// Read calls each for the questions of a query, in the order of [List], until that returns false. It
// goes through the store once: page by page it would look for its place among all threads again.
// The query's After, Limit and Look do not count.
func (w *Walk) Read(ctx context.Context, l *ledger.Ledger, q Query, each func(*Item) bool) error {
	c, err := w.complete(q)
	if err != nil {
		return err
	}
	return w.read(ctx, l, c, each)
}

// Settled calls each for the questions of all states but [Open], the newest decision first. It goes
// through the logs once, where [Walk.Read] does so for each state. The query's State does not count.
func (w *Walk) Settled(ctx context.Context, l *ledger.Ledger, q Query, each func(*Item) bool) error {
	q.State = Decided
	c, err := w.complete(q)
	if err != nil {
		return err
	}
	c.State = ""
	return w.read(ctx, l, c, each)
}

func (w *Walk) complete(q Query) (*Query, error) {
	q.After, q.Limit, q.Look = "", 0, walkLook+walkEach*w.Most
	c, err := q.complete()
	if err != nil {
		return nil, err
	}
	if w.Memory != nil {
		c.Memory = w.Memory
		c.bare = c.remembers()
	}
	return c, nil
}

func (w *Walk) read(ctx context.Context, l *ledger.Ledger, c *Query, each func(*Item) bool) error {
	stopped := false
	page, err := c.list(ctx, l, func(item *Item) bool {
		if w.Looked >= w.Most {
			w.More = true
			return false
		}
		w.Looked++
		stopped = !each(item)
		return !stopped
	})
	if err == nil && !stopped && (page.Next != "" || page.More) {
		w.More = true // of a filter that finds little
	}
	return err
}
