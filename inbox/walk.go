package inbox

import (
	"context"

	"github.com/posthouse/posthouse/ledger"
)

// A Walk reads the questions that a query finds, all pages of them, within a bound.
type Walk struct {
	Most int // how many questions are read at most, in all calls of Read

	Looked int  // how many were
	More   bool // there may be others
}

const (
	walkPage = 500
	walkLook = 200_000 // each page of what was decided finds its place in all threads anew: few pages are best
)

// Read calls each for the questions of a query, in the order of [List], until that returns false.
// The query's After, Limit and Look do not count.
func (w *Walk) Read(ctx context.Context, l *ledger.Ledger, q Query, each func(*Item) bool) error {
	q.After, q.Limit, q.Look = "", walkPage, walkLook
	for pages := 1; ; pages++ {
		page, err := List(ctx, l, &q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if w.Looked >= w.Most {
				w.More = true
				return nil
			}
			w.Looked++
			if !each(&page.Items[i]) {
				return nil
			}
		}
		q.After = page.Next
		switch {
		case q.After == "":
			return nil
		case pages > 10+w.Most/walkPage: // of a filter that finds little
			w.More = true
			return nil
		}
	}
}
