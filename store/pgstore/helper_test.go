package pgstore_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/pgstore"
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
