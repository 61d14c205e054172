package pgstore_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/pgtest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// open opens a store in a schema of the test's own on the shared server.
func open(t testing.TB, o pgstore.Options) *pgstore.Store {
	t.Helper()
	return openAt(t, pgtest.URL(t), o)
}

func openAt(t testing.TB, url string, o pgstore.Options) *pgstore.Store {
	t.Helper()
	if o.Schema == "" {
		o.Schema = schemaOf(t.Name())
	}
	s, err := pgstore.Open(t.Context(), url, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// connect opens a connection beside the store.
func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	return c
}

// run runs statements on the tables of the test's schema, which are named as in package
// pgstore, and returns how many rows the last one changed.
func run(t testing.TB, c *pgx.Conn, sql string, args ...any) int64 {
	t.Helper()
	tag, err := c.Exec(t.Context(), inSchema(t, sql), args...)
	if err != nil {
		t.Fatal(err)
	}
	return tag.RowsAffected()
}

func inSchema(t testing.TB, sql string) string {
	return strings.ReplaceAll(sql, "posthouse.", schemaOf(t.Name())+".")
}

// take appends one entry and moves the log behind it.
func take(t testing.TB, s posthouse.Store, l *storetest.Log, items ...storetest.Item) *posthouse.Batch {
	t.Helper()
	b := l.Next(items...)
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	l.Took(b)
	return b
}

func entries(t testing.TB, s posthouse.Store, thread string) (es []*posthouse.Entry) {
	t.Helper()
	for e, err := range s.Read(t.Context(), thread, posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	return es
}

// wantSound wants a log that chains, from its first entry, of n entries, and a store that
// finds nothing wrong with itself.
func wantSound(t testing.TB, s *pgstore.Store, thread string, n int) {
	t.Helper()
	var info posthouse.ThreadInfo
	es := entries(t, s, thread)
	for _, e := range es {
		if err := e.Check(); err != nil {
			t.Error(err)
		}
		if err := info.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if len(es) != n {
		t.Errorf("thread %q has %d entries, want %d", thread, len(es), n)
	}
	for err := range s.Check(t.Context()) {
		t.Errorf("Check: %v", err)
	}
}
