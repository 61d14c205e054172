package sqlitestore

import (
	"cmp"
	"context"
	"iter"
	"math"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

var _ lists.BulkReader = (*Store)(nil)

// Threads implements [posthouse.Store].
func (s *Store) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	if q.Thread != "" {
		return s.threadNamed(ctx, q)
	}
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		if q.After != "" && q.DueBefore != 0 {
			yield(nil, posthouse.Invalid("after", "cannot be joined with a due time: that order has no cursor"))
			return
		}
		walk := &threadWalk{ThreadQuery: q, ctx: ctx, name: q.After}
		if q.ByActivity() {
			if err := walk.beginNewest(); err != nil {
				yield(nil, err)
				return
			}
		}
		next := walk.next
		if q.Gates {
			next = (&gateWalk{ThreadQuery: q, ctx: ctx, begun: q.After != ""}).next
		}
		for t, err := range db.Pages(ctx, s.read, "list threads", q.Limit, next) {
			if !yield(t, err) {
				return
			}
		}
	}
}

// threadNamed answers a query for one thread.
func (s *Store) threadNamed(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		var have *layout.Summary
		err := s.lend(ctx, "read thread "+q.Thread, func(c *db.Conn) (err error) {
			have, err = layout.SummaryOf(c, q.Thread)
			return err
		})
		if err != nil {
			yield(nil, err)
			return
		}
		switch {
		case have == nil:
		case q.Gates:
			for _, t := range lists.Gates(&q, have.Info) {
				if !yield(t, nil) {
					return
				}
			}
		case q.Match(have.Info):
			if follows, err := lists.Follows(&q, have.Info); err != nil || follows {
				yield(have.Info, err)
			}
		}
	}
}

// A threadWalk is a query and its position.
type threadWalk struct {
	posthouse.ThreadQuery
	ctx  context.Context
	name string // of the last thread seen
	due  posthouse.Millis

	minute posthouse.Millis // of the last thread seen, by activity
	begun  bool
	places []lists.Place // where few threads are looked at, those that are left
}

// minuteColumn is the column of the minute in qThreadsNewest.
const minuteColumn = 6

// beginNewest goes to the cursor of a query by activity, or to its beginning.
func (w *threadWalk) beginNewest() (err error) {
	w.minute, w.name = math.MaxInt64, ""
	if w.After != "" {
		w.minute, w.name, err = lists.ParseActivityCursor(w.After)
	}
	return err
}

func (w *threadWalk) next(c *db.Conn, p *db.Page[*posthouse.ThreadInfo]) (more bool, err error) {
	if !w.begun {
		w.begun = true
		few, err := w.few(c)
		if err != nil {
			return false, err
		}
		if few && len(w.places) == 0 {
			return false, nil
		}
	}
	if w.places != nil {
		return w.nextFew(c, p)
	}
	for stmt, err := range w.open(c) {
		if err != nil {
			return false, err
		}
		if p.Full() {
			return true, nil
		}
		s, err := layout.ScanSummary(c, stmt)
		err = cmp.Or(err, w.ctx.Err())
		if err != nil {
			return false, err
		}
		t := s.Info
		if w.DueBefore == 0 && !w.ByActivity() {
			if !w.Descending && t.Thread <= w.name && w.name != "" {
				continue
			}
			if !strings.HasPrefix(t.Thread, w.Prefix) {
				return false, nil
			}
		}
		w.name, w.due = t.Thread, t.Due
		if w.ByActivity() {
			w.minute = posthouse.Millis(stmt.ColumnInt64(minuteColumn))
		}
		if w.Match(t) {
			p.Add(t, 256)
		}
	}
	return false, nil
}

// open walks the index with the fewest candidates.
func (w *threadWalk) open(c *db.Conn) iter.Seq2[*sqlite.Stmt, error] {
	up, down, active := qThreadsByName, qThreadsByNameDown, []any{}
	switch {
	case w.DueBefore != 0:
		return c.Rows(qThreadsDue, int64(w.DueBefore), int64(w.due), w.name)
	case w.ByActivity() && lists.Walk(&w.ThreadQuery) != "":
		return c.Rows(qMarkWalk, []byte(lists.Walk(&w.ThreadQuery)), int64(w.minute), w.name)
	case w.ByActivity():
		return c.Rows(qThreadsNewest, int64(w.minute), w.name)
	case w.Runnable || w.Leased:
		up, down, active = qThreadsActive, qThreadsActiveDown, []any{int64(layout.ActiveLive)}
	case w.Waiting:
		up, down, active = qThreadsActive, qThreadsActiveDown, []any{int64(layout.ActiveWaiting)}
	}
	if w.Descending {
		up = down
	}
	return c.Rows(up, append([]any{w.bound()}, active...)...)
}

// behindNames sorts after every rest of a name. It repeats the highest character, and
// is longer than a name.
var behindNames = strings.Repeat("\U0010ffff", posthouse.MaxID/4+1)

// bound returns the name at which the walk goes on: the first one upwards, the one after
// the first downwards.
func (w *threadWalk) bound() string {
	if !w.Descending {
		return max(w.name, w.Prefix)
	}
	last := w.Prefix + behindNames
	if w.name != "" {
		last = min(last, w.name)
	}
	return last
}
