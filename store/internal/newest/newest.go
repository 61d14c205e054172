package newest

import (
	"context"
	"iter"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

// pageSize is how many threads a reading of all of them yields if the caller asked for
// more, or for all.
const pageSize = 4096

// Threads yields what [posthouse.ThreadQuery.Newest] asks for. threads is the store's own
// method; it is called with queries by name. Each page of up to 4,096 threads reads all
// summaries once.
func Threads(ctx context.Context, threads func(context.Context, posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error], q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		left := q.Limit
		for {
			n := pageSize
			if q.Limit > 0 {
				n = min(n, left)
			}
			found, err := page(threads(ctx, byName(q)), &q, n)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, t := range found {
				if !yield(t, nil) {
					return
				}
			}
			if left -= len(found); len(found) < n || left == 0 {
				return
			}
			q.After = found[n-1].ActivityCursor()
		}
	}
}

func byName(q posthouse.ThreadQuery) posthouse.ThreadQuery {
	q.Newest, q.Descending, q.After, q.Limit = false, false, "", 0
	return q
}

// page returns the first n of the threads that follow the cursor.
func page(all iter.Seq2[*posthouse.ThreadInfo, error], q *posthouse.ThreadQuery, n int) (found []*posthouse.ThreadInfo, err error) {
	cut := func() {
		slices.SortFunc(found, lists.CompareActivity)
		if len(found) > n {
			clear(found[n:])
			found = found[:n]
		}
	}
	if _, err := lists.Follows(q, &posthouse.ThreadInfo{}); err != nil {
		return nil, err // also if there is no thread
	}
	for t, err := range all {
		if err != nil {
			return nil, err
		}
		if follows, err := lists.Follows(q, t); err != nil {
			return nil, err
		} else if !follows {
			continue
		}
		found = append(found, t)
		if len(found) >= 2*n+64 {
			cut()
		}
	}
	cut()
	return found, nil
}
