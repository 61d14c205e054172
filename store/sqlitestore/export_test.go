package sqlitestore

import (
	"context"
	"fmt"
	"testing"
)

// FailStatement makes fn decide, for each statement that writes are made of,
// whether it fails instead of running. Its argument is the statement's text.
func (s *Store) FailStatement(ctx context.Context, fn func(sql string) error) error {
	return s.queue.Do(ctx, request{alone: func(w *writer) error {
		w.fault = nil
		if fn != nil {
			w.fault = func(k int) error { return fn(statement[k]) }
		}
		return nil
	}})
}

// SetMaxPages makes the disk full when the database has n pages.
func (s *Store) SetMaxPages(ctx context.Context, n int) error {
	return s.queue.Do(ctx, request{alone: func(w *writer) error {
		return w.script(fmt.Sprintf("PRAGMA max_page_count=%d", n))
	}})
}

// WriterPragma returns a setting of the connection that writes.
func (s *Store) WriterPragma(ctx context.Context, name string) (n int64, err error) {
	err = s.queue.Do(ctx, request{alone: func(w *writer) (err error) {
		n, err = w.number("PRAGMA " + name)
		return err
	}})
	return n, err
}

// HoldReader takes a reader's connection out of the pool until release.
func (s *Store) HoldReader(t *testing.T) (release func()) {
	c, err := s.readers.get(t.Context())
	if err == nil {
		_, err = c.number("PRAGMA user_version") // opens the file
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { s.readers.put(c, false) }
}

// Pages returns how many pages the database has.
func (s *Store) Pages(ctx context.Context) (n int64, err error) {
	err = s.queue.Do(ctx, request{alone: func(w *writer) (err error) {
		n, err = w.number("PRAGMA page_count")
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

// CheckEngine is checkEngine.
func CheckEngine(version int) error { return checkEngine(version) }

// AppendHead and ReadHead are the column's codec.
var (
	AppendHead = appendHead
	ReadHead   = readHead
)

// FailRead is FailStatement for what reads. It must not be called while
// somebody reads.
func (s *Store) FailRead(fn func(sql string) error) {
	var fault func(int) error
	if fn != nil {
		fault = func(k int) error { return fn(statement[k]) }
	}
	s.readers.mu.Lock()
	defer s.readers.mu.Unlock()
	for _, c := range s.readers.idle {
		c.fault = fault
	}
	s.readers.open = func() (*conn, error) {
		c, err := s.connect(modeRead)
		if err == nil {
			c.fault = fault
		}
		return c, err
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
