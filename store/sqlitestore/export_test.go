package sqlitestore

import (
	"context"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// FailStatement makes fn decide, for each statement that writes are made of,
// whether it fails instead of running. Its argument is the statement's text.
func (s *Store) FailStatement(ctx context.Context, fn func(sql string) error) error {
	return s.queue.Do(ctx, request{alone: func(w *writer) error {
		w.Fault = fn
		return nil
	}})
}

// SetMaxPages makes the disk full when the database has n pages.
func (s *Store) SetMaxPages(ctx context.Context, n int) error {
	return s.queue.Do(ctx, request{alone: func(w *writer) error {
		return w.Script(fmt.Sprintf("PRAGMA max_page_count=%d", n))
	}})
}

// WriterPragma returns a setting of the connection that writes.
func (s *Store) WriterPragma(ctx context.Context, name string) (n int64, err error) {
	err = s.queue.Do(ctx, request{alone: func(w *writer) (err error) {
		n, err = w.Number("PRAGMA " + name)
		return err
	}})
	return n, err
}

// HoldReader takes a reader's connection out of the pool until release.
func (s *Store) HoldReader(t *testing.T) (release func()) {
	c, err := s.readers.Get(t.Context())
	if err == nil {
		_, err = c.Number("PRAGMA user_version") // opens the file
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { s.readers.Put(c, false) }
}

// Pages returns how many pages the database has.
func (s *Store) Pages(ctx context.Context) (n int64, err error) {
	err = s.queue.Do(ctx, request{alone: func(w *writer) (err error) {
		n, err = w.Number("PRAGMA page_count")
		return err
	}})
	return n, err
}

// SetMaxLength lowers the engine's own limit on the size of a row.
func (s *Store) SetMaxLength(ctx context.Context, n int32) error {
	return s.queue.Do(ctx, request{alone: func(w *writer) error {
		w.Limit(0, n) // SQLITE_LIMIT_LENGTH
		return nil
	}})
}

// CheckEngine is that of package db.
func CheckEngine(version int) error { return db.CheckEngine(version) }

// AppendHead and ReadHead are the column's codec.
var (
	AppendHead = layout.AppendHead
	ReadHead   = layout.ReadHead
)

// FailRead is FailStatement for what reads. It must not be called while
// somebody reads.
func (s *Store) FailRead(t *testing.T, fn func(sql string) error) {
	s.fault = fn
	var all []*db.Conn
	for range s.opts.Readers {
		c, err := s.readers.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.Fault = fn
		all = append(all, c)
	}
	for _, c := range all {
		s.readers.Put(c, false)
	}
}

// Forget empties what the store remembers of threads and packs.
func (s *Store) Forget(ctx context.Context) error {
	return s.queue.Do(ctx, request{alone: func(w *writer) error {
		w.first = w.next
		s.forget()
		return nil
	}})
}
