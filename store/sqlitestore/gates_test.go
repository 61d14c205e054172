package sqlitestore_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestOpenGatesAreIndexedWhenMigrated opens a database that was made before
// there was the index of open gates: it answers as it did, and so it does
// read-only, after decisions, and once nothing is left.
func TestOpenGatesAreIndexedWhenMigrated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	ids := idSource()
	for i := range 40 {
		l := newLine(fmt.Sprintf("thread-%d", i), ids)
		batches := []*posthouse.Batch{l.node([]byte("x"))}
		if i%3 > 0 {
			batches = append(batches, l.waiting("gate-"+ids()))
		}
		for _, b := range batches {
			if err := s.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
	}
	queries := []posthouse.ThreadQuery{{People: true}, {Person: "alice"}, {Descending: true, Limit: 5}, {GateKind: posthouse.GateTimer}}
	shown := func(s *sqlitestore.Store) (all [][]posthouse.ID) {
		t.Helper()
		for _, q := range queries {
			q.Gates = true
			var got []posthouse.ID
			for info, err := range s.Threads(t.Context(), q) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, info.Waiting[0].ID)
			}
			all = append(all, got)
		}
		return all
	}
	want := shown(s)
	if len(want[0]) < 15 {
		t.Fatalf("only %d gates are open", len(want[0]))
	}
	check := func(s *sqlitestore.Store, when string) {
		t.Helper()
		if got := shown(s); !slices.EqualFunc(got, want, slices.Equal[[]posthouse.ID]) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	inspect(t, path, func(c *sqlite.Conn) {
		script(t, c, "DROP TABLE gates; DROP TABLE marks; ALTER TABLE slots DROP COLUMN sum; DROP INDEX threads_minute; ALTER TABLE threads DROP COLUMN minute; PRAGMA user_version=2")
	})

	s = open(t, path, nil)
	check(s, "migrated")
	noDifference(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(open(t, path, &sqlitestore.Options{ReadOnly: true}), "read-only")
	s = open(t, path, nil)
	for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err == nil {
			_, err = s.Remove(t.Context(), posthouse.Removal{Thread: info.Thread, All: true})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	inspect(t, path, func(c *sqlite.Conn) {
		if left := value(t, c, "SELECT count(*) FROM gates"); left != "0" {
			t.Errorf("%s rows are left of nothing", left)
		}
	})
}
