package sqlitestore

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"sync"
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
		for waited := false; err == nil; waited = true {
			news := s.news.Wait()
			p := &watchedPage{after: after, news: news, end: after, read: make(chan struct{})}
			if waited && !s.opts.ReadOnly { // else another process writes, and does not tell
				p = s.watched.share(ctx, s, p)
			} else {
				p.fill(ctx, s)
			}
			after, err = p.end, p.err
			for _, e := range p.items { // also those before an entry that cannot be read
				own := *e // others may have the page
				if !yield(&own, nil) {
					return
				}
			}
			if err == nil && !p.full {
				s.await(ctx, news) // what was written since the page was read is news
				err = ctx.Err()
			}
		}
		yield(nil, err)
	}
}

// A watchedPage is what follows a place in the log, as watches read it.
type watchedPage struct {
	after int64
	news  <-chan struct{}
	read  chan struct{} // closed once what follows is there

	items []*posthouse.Entry
	end   int64
	full  bool // there may be more
	err   error
}

// watchedPages has the page that was asked for last. Watches that wait for news at one place, as all do that
// have seen everything, read it once.
type watchedPages struct {
	mu   sync.Mutex
	last *watchedPage
}

// share fills a page, or returns the one that another watch has filled, if it was asked for since the last
// commit: what that lacks is news.
func (w *watchedPages) share(ctx context.Context, s *Store, p *watchedPage) *watchedPage {
	w.mu.Lock()
	last := w.last
	shared := last != nil && last.after == p.after && last.news == p.news
	if !shared {
		w.last = p
	}
	w.mu.Unlock()
	if shared {
		select {
		case <-last.read:
		case <-ctx.Done():
			p.err = ctx.Err()
			return p
		}
		if last.err == nil {
			return last
		}
	}
	p.fill(ctx, s) // if the other could not, since its watch had ended, for this watch alone
	return p
}

func (p *watchedPage) fill(ctx context.Context, s *Store) {
	defer close(p.read)
	rows := db.Page[*posthouse.Entry]{Want: db.MaxPage}
	p.err = s.read(ctx, "watch", func(c *db.Conn) (err error) {
		p.full, err = s.watchPage(ctx, c, &rows, &p.end)
		return err
	})
	p.items = rows.Items
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

func (s *Store) watchPage(ctx context.Context, c *db.Conn, p *db.Page[*posthouse.Entry], after *int64) (full bool, err error) {
	for stmt, err := range c.Rows(qWatch, *after) {
		if err != nil || p.Full() {
			return err == nil, err
		}
		if stmt.ColumnInt64(layout.ColID) <= *after {
			return false, layout.OutOfOrder("entries")
		}
		e, err := s.packs.readRow(ctx, c, p, stmt, stmt.ColumnText(layout.ColBody+1), false)
		if err != nil {
			return false, err
		}
		*after = stmt.ColumnInt64(layout.ColID)
		e.Cursor = strconv.FormatInt(*after, 10)
	}
	return false, nil
}
