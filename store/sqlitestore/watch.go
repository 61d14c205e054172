package sqlitestore

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// Watch implements [posthouse.Watcher]. It ends with an error when ctx ends, when the
// store is closed, or at an entry with a damaged header or pack
// ([posthouse.ErrCorrupt]), after the entries before it. A cursor is valid for as long
// as the database exists.
func (s *Store) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	start, bad := s.parseCursor(ctx, cursor) // "now" is when Watch is called
	return func(yield func(*posthouse.Entry, error) bool) {
		after, err := start, bad
		for err == nil {
			news := s.news.Wait()
			p := db.Page[*posthouse.Entry]{Want: db.MaxPage}
			err = s.read(ctx, "watch", func(c *db.Conn) error { return s.watchPage(ctx, c, &p, &after) })
			for _, e := range p.Items { // also those before an entry that cannot be read
				if !yield(e, nil) {
					return
				}
			}
			if err == nil && len(p.Items) == 0 {
				s.await(ctx, news)
				err = ctx.Err()
			}
		}
		yield(nil, err)
	}
}

// await returns when there may be something new.
func (s *Store) await(ctx context.Context, news <-chan struct{}) {
	var poll <-chan time.Time // news come from this process only
	if s.opts.ReadOnly {
		t := time.NewTimer(s.opts.Poll)
		defer t.Stop()
		poll = t.C
	}
	select {
	case <-news:
	case <-poll:
	case <-ctx.Done():
	}
}

func (s *Store) parseCursor(ctx context.Context, cursor string) (n int64, err error) {
	switch cursor {
	case "":
		return 0, nil
	case "now":
		err = s.read(ctx, "find the end of the log", func(c *db.Conn) error {
			n, err = layout.LastEntry(c)
			return err
		})
		return n, err
	}
	n, err = strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 0 {
		return 0, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "cursor",
			Message: fmt.Sprintf("%.80q is not one this store gave out", cursor),
		}
	}
	return n, nil
}

func (s *Store) watchPage(ctx context.Context, c *db.Conn, p *db.Page[*posthouse.Entry], after *int64) error {
	for stmt, err := range c.Rows(qWatch, *after) {
		if err != nil || p.Full() {
			return err
		}
		if stmt.ColumnInt64(layout.ColID) <= *after {
			return layout.OutOfOrder("entries")
		}
		e, err := s.readRow(ctx, c, p, stmt, stmt.ColumnText(layout.ColBody+1), false)
		if err != nil {
			return err
		}
		*after = stmt.ColumnInt64(layout.ColID)
		e.Cursor = strconv.FormatInt(*after, 10)
	}
	return nil
}
