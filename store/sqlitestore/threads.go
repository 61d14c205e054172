package sqlitestore

import (
	"context"
	"iter"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
)

// Threads implements [posthouse.Store].
func (s *Store) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	if q.Thread != "" {
		return s.threadNamed(ctx, q)
	}
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		if q.After != "" && q.DueBefore != 0 {
			yield(nil, invalid("after", "cannot be joined with a due time: that order has no cursor"))
			return
		}
		next := (&threadWalk{ThreadQuery: q, name: q.After}).next
		if q.Gates {
			next = (&gateWalk{ThreadQuery: q, begun: q.After != ""}).next
		}
		for t, err := range pages(ctx, s, "list threads", q.Limit, next(ctx)) {
			if !yield(t, err) {
				return
			}
		}
	}
}

// threadNamed answers a query for one thread.
func (s *Store) threadNamed(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		var t *posthouse.ThreadInfo
		err := s.lend(ctx, "read thread "+q.Thread, func(c *conn) (err error) {
			t, err = c.summary(q.Thread)
			return err
		})
		if err != nil {
			yield(nil, err)
			return
		}
		var found []*posthouse.ThreadInfo
		switch {
		case t == nil:
		case q.Gates:
			found = q.GatesOf(t)
		case q.Match(t) && q.Behind(t.Thread):
			found = append(found, t)
		}
		for _, t := range found {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// summary returns a thread's summary, nil if there is no such thread.
func (c *conn) summary(thread string) (*posthouse.ThreadInfo, error) {
	stmt, err := c.stmt(qThread)
	if err != nil {
		return nil, err
	}
	stmt.BindText(1, thread)
	return c.scanOne(stmt)
}

// scanOne reads the summary that stmt finds, nil if it finds none.
func (c *conn) scanOne(stmt *sqlite.Stmt) (*posthouse.ThreadInfo, error) {
	row, err := stmt.Step()
	if err != nil || !row {
		return nil, first(err, stmt.Reset())
	}
	s, err := c.scanSummary(stmt)
	if err != nil {
		return nil, first(err, stmt.Reset())
	}
	return s.info, stmt.Reset()
}

// A threadWalk is a query and how far it got.
type threadWalk struct {
	posthouse.ThreadQuery
	name string // of the last thread seen
	due  posthouse.Millis
}

func (w *threadWalk) next(ctx context.Context) func(*conn, *page[*posthouse.ThreadInfo]) (bool, error) {
	return func(c *conn, p *page[*posthouse.ThreadInfo]) (bool, error) {
		stmt, err := w.open(c)
		if err != nil {
			return false, err
		}
		for {
			if p.full() {
				return true, stmt.Reset()
			}
			row, err := stmt.Step()
			if err != nil {
				return false, err
			}
			if !row {
				return false, stmt.Reset()
			}
			s, err := c.scanSummary(stmt)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return false, first(err, stmt.Reset())
			}
			t := s.info
			if w.DueBefore == 0 {
				if !w.Descending && t.Thread <= w.name && w.name != "" {
					continue
				}
				if !strings.HasPrefix(t.Thread, w.Prefix) {
					return false, stmt.Reset()
				}
			}
			w.name, w.due = t.Thread, t.Due
			if w.Match(t) {
				p.add(t, 256)
			}
		}
	}
}

// open chooses the index that has the fewest threads to look at.
func (w *threadWalk) open(c *conn) (*sqlite.Stmt, error) {
	k, mark := qThreadsByName, int64(0)
	switch {
	case w.DueBefore != 0:
		k = qThreadsDue
	case w.Runnable || w.Leased:
		k, mark = qThreadsActive, activeLive
	case w.Waiting:
		k, mark = qThreadsActive, activeWaiting
	}
	switch {
	case w.Descending && k == qThreadsByName:
		k = qThreadsByNameDown
	case w.Descending && k == qThreadsActive:
		k = qThreadsActiveDown
	}
	stmt, err := c.stmt(k)
	if err != nil {
		return nil, err
	}
	if k == qThreadsDue {
		stmt.BindInt64(1, int64(w.DueBefore))
		stmt.BindInt64(2, int64(w.due))
		stmt.BindText(3, w.name)
		return stmt, nil
	}
	stmt.BindText(1, w.bound())
	if mark != 0 {
		stmt.BindInt64(2, mark)
	}
	return stmt, nil
}

// behindNames sorts behind what names have behind any prefix: they are text, of
// which nothing is higher, and shorter.
var behindNames = strings.Repeat("\U0010ffff", posthouse.MaxID/4+1)

// bound is the name that the walk goes on from: included upwards, excluded
// downwards, where it begins behind all names that start with the prefix.
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
