package pgstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/valid"
	"github.com/posthouse/posthouse/store/pgstore/internal/paging"
)

const (
	// A transaction that still runs has a number of at least xmin, and writes no entry with
	// a lower one: so nothing can appear before what this reads.
	watchNext = "SELECT " + entryColumns + `, e.gone, e.bodies, e.watch, e.thread, t.name FROM (
			SELECT * FROM posthouse.entries e
			WHERE (e.watch, e.thread, e.seq) > ($1::bigint, $2::bigint, $3::bigint) AND e.watch < txid_snapshot_xmin(txid_current_snapshot())
			ORDER BY e.watch, e.thread, e.seq LIMIT $4
		) e JOIN posthouse.threads t ON t.id = e.thread ORDER BY e.watch, e.thread, e.seq`
	// Entries beyond xmin wait for other transactions to end.
	watchHeld  = "SELECT EXISTS (SELECT FROM posthouse.entries WHERE watch >= txid_snapshot_xmin(txid_current_snapshot()))"
	watchAhead = "SELECT $1::bigint >= txid_snapshot_xmax(txid_current_snapshot())"
	// One statement, so that xmin and the tails beyond it are of one snapshot. It yields a row
	// without a thread where nothing is beyond xmin.
	watchTails = `SELECT txid_snapshot_xmin(txid_current_snapshot()), coalesce(e.thread, 0), coalesce(e.seq, 0)
		FROM (VALUES (1)) here LEFT JOIN (
			SELECT thread, max(seq) seq FROM posthouse.entries
			WHERE watch >= txid_snapshot_xmin(txid_current_snapshot()) GROUP BY thread
		) e ON true`
)

// A watchCursor is a place in the order of watching.
type watchCursor struct {
	watch, thread, seq int64
	known              map[int64]int64 // of "now": how far threads were that show their entries later
}

// Watch implements [posthouse.Watcher]. It shows an entry once no transaction runs that
// began to write before the entry's did, so a transaction that writes for long delays all
// watches, whatever it writes. It goes on by itself when the server was away. It ends with
// an error when ctx ends, when the store is closed, or at an entry that does not decode.
//
// A watch from "now" shows what is appended after the call. A watch that goes on after
// such an entry may begin with entries that were committed shortly before the call. A
// cursor is valid for as long as the database is not set back: one that a dump was read
// into refuses those from before.
func (s *Store) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	start, bad := s.startWatch(ctx, cursor) // "now" is when Watch is called
	return func(yield func(*posthouse.Entry, error) bool) {
		if bad != nil {
			yield(nil, bad)
			return
		}
		s.listen.Begin()
		defer s.listen.End()
		at, p := start, paging.Pace{}
		wait := newRetries()
		for {
			news := s.news.Wait()
			page, more, held, err := s.watchPage(ctx, &at, &p)
			for _, e := range page { // also those before an entry that cannot be read
				if !yield(e, nil) {
					return
				}
			}
			switch {
			case err != nil && (!isLost(err) || !wait.Next(ctx)):
				if ctx.Err() != nil && !s.lifecycle.Closed() {
					err = ctx.Err()
				}
				yield(nil, err)
				return
			case more || err != nil:
			case held && len(page) == 0:
				wait.Tries = min(wait.Tries, 5)
				wait.Next(ctx)
			default:
				wait.Reset()
				s.await(ctx, news)
			}
		}
	}
}

// await returns when there may be something new.
func (s *Store) await(ctx context.Context, news <-chan struct{}) {
	t := time.NewTimer(s.opts.Poll)
	defer t.Stop()
	select {
	case <-news:
	case <-t.C:
	case <-ctx.Done():
	}
}

func (s *Store) startWatch(ctx context.Context, cursor string) (at watchCursor, err error) {
	if cursor == "" {
		return at, s.lifecycle.Usable(ctx)
	}
	if cursor != "now" {
		at, err = s.parseCursor(cursor)
		if err != nil {
			return at, err
		}
	}
	err = s.read(ctx, "begin to watch", func(ctx context.Context, c *conn) error {
		if cursor != "now" {
			var ahead bool
			if _, err := c.one(ctx, watchAhead, []any{at.watch}, &ahead); err != nil || !ahead {
				return err
			}
			return s.foreign(cursor)
		}
		at.known = map[int64]int64{}
		return c.each(ctx, watchTails, nil, func(rows pgx.Rows) error {
			var thread, seq int64
			err := rows.Scan(&at.watch, &thread, &seq)
			at.known[thread] = seq
			return err
		})
	})
	return at, err
}

func (s *Store) foreign(cursor string) error {
	e := posthouse.Invalid("cursor", "%.80q is not one this store gave out", cursor)
	e.Hint = "watch from the start; the database may have been restored since"
	return e
}

func (s *Store) parseCursor(cursor string) (at watchCursor, err error) {
	parts := strings.Split(cursor, "-")
	if len(parts) != 4 {
		return at, s.foreign(cursor)
	}
	var era int64
	for i, into := range []*int64{&era, &at.watch, &at.thread, &at.seq} {
		n, err := strconv.ParseUint(parts[i], 10, 64)
		if err != nil || n > valid.MaxSeq {
			return at, s.foreign(cursor)
		}
		*into = int64(n)
	}
	if era != s.era {
		return at, s.foreign(cursor)
	}
	return at, nil
}

// watchPage reads the entries after a cursor and moves the cursor past them. held says
// that there is nothing to show yet, but will be.
func (s *Store) watchPage(ctx context.Context, at *watchCursor, p *paging.Pace) (page []*posthouse.Entry, more, held bool, err error) {
	n, seen, size, next := p.Next(paging.MaxRows), 0, 0, *at
	err = s.read(ctx, "watch", func(ctx context.Context, c *conn) error {
		page, seen, size, next = nil, 0, 0, *at
		err := c.each(ctx, watchNext, []any{at.watch, at.thread, at.seq, int64(n)}, func(rows pgx.Rows) error {
			var name []byte
			e, bytes, err := scanEntry(rows, &name, false, &next.watch, &next.thread, &name)
			if err != nil {
				return err
			}
			seen++
			next.seq = int64(e.Seq)
			if next.seq <= at.known[next.thread] {
				return nil
			}
			e.Cursor = fmt.Sprintf("%d-%d-%d-%d", s.era, next.watch, next.thread, next.seq)
			page, size = append(page, e), size+bytes
			return nil
		})
		if err == nil && seen == 0 {
			_, err = c.one(ctx, watchHeld, nil, &held)
		}
		return err
	})
	if err == nil || errors.Is(err, posthouse.ErrCorrupt) {
		*at = next
		at.known = next.known
	}
	p.Took(size)
	return page, seen == n, held, err
}
