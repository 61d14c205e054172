package overview

import (
	"context"
	"net/url"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/lists"
)

// Cursor returns where a list goes on after a thread, as text for a header. It is for the order of
// the query.
func Cursor(q *posthouse.ThreadQuery, t *posthouse.ThreadInfo) string {
	if q.Newest {
		return url.PathEscape(t.ActivityCursor())
	}
	return url.PathEscape(t.Thread)
}

// GoOn has a query go on after what [Cursor] returned; after "" it begins. It refuses a cursor that
// leads to no thread, or of another order, as [posthouse.ErrInvalid]. A deleted thread still has the
// record of that.
func GoOn(ctx context.Context, l *ledger.Ledger, q *posthouse.ThreadQuery, cursor string) error {
	if cursor == "" {
		return nil
	}
	refused := &posthouse.Error{Code: posthouse.CodeInvalid, Field: "cursor", Message: "is not one that this path gave out in this order", Hint: "use next of the page before, with the same order, or leave it out"}
	after, err := url.PathUnescape(cursor)
	name := after
	if err == nil && q.Newest {
		_, name, err = lists.ParseActivityCursor(after)
	}
	if err != nil {
		return refused
	}
	q.After = after
	last := posthouse.Range{Limit: 1, Headers: true, Reverse: true}
	for _, err := range l.Store().Read(ctx, name, last) {
		return err
	}
	return refused
}
