package sqlitestore_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestPlans asks SQLite how it answers the statements that lists and pages are made of: by
// an index, never by reading a table from its start or by sorting. Then a page costs the
// same however many threads there are.
func TestPlans(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := storetest.NewBuilder()
	for i := range 20 {
		l := b.Log(fmt.Sprintf("t%02d", i))
		h := posthouse.Header{Kind: posthouse.KindInput, Run: fmt.Sprint("run-", i), Coordination: "desk", Status: posthouse.StatusRunning, Labels: map[string]string{"customer": fmt.Sprint(i % 5)}}
		gate := l.GateOf(b.GateID(), posthouse.GateInfo{ExpiresAt: b.Now()})
		if err := s.Append(t.Context(), l.Next(l.Checkpoint(h, "state"), gate)); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	asked := map[string][]string{} // statements, and the queries that ran them
	doing := ""
	s.FailRead(t, func(sql string) error {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(asked[sql], doing) {
			asked[sql] = append(asked[sql], doing)
		}
		return nil
	})
	for name, q := range map[string]posthouse.Query{
		"latest": {Descending: true, Limit: 1}, "all": {Limit: 50}, "a thread": {Thread: "t07", Limit: 50},
		"latest of a thread": {Thread: "t07", Descending: true, Limit: 1}, "by label": {Label: "customer", LabelValue: "3", Limit: 50},
		"newest by label": {Label: "customer", LabelValue: "3", Descending: true, Limit: 50},
		"by run":          {Run: "run-7", Limit: 50}, "by coordination": {Coordination: "desk", Limit: 50},
	} {
		doing = name
		drain(t, s.List(t.Context(), q))
	}
	for name, q := range map[string]posthouse.ThreadQuery{
		"inbox": {Gates: true, People: true, Limit: 50}, "inbox of a person": {Gates: true, People: true, Person: "alice", Limit: 50},
		"newest inbox": {Gates: true, People: true, Descending: true, Limit: 50}, "prefix": {Prefix: "t0", Limit: 50},
		"waiting": {Waiting: true, Limit: 50}, "due": {DueBefore: 1 << 50, Limit: 50}, "one thread": {Thread: "t07"},
		"newest of a label": {Label: "customer", LabelValue: "3", Newest: true, Limit: 50}, "newest of a status": {Status: posthouse.StatusRunning, Newest: true, Limit: 50},
		"a label by name": {Label: "customer", LabelValue: "3", Limit: 50}, "a text": {Text: "t07", Newest: true, Limit: 50},
		"newest": {Newest: true, Limit: 50}, "newest behind": {Newest: true, After: "4102444800000.t", Limit: 50},
	} {
		doing = name
		drain(t, s.Threads(t.Context(), q))
	}
	for name, r := range map[string]posthouse.Range{
		"log": {To: 1 << 40, Limit: 50}, "end of a log": {Reverse: true, Limit: 1}, "headers": {Headers: true, Limit: 50},
	} {
		doing = name
		drain(t, s.Read(t.Context(), "t07", r))
	}
	s.FailRead(t, nil)
	if n := explain(t, path, asked); n < 12 {
		t.Errorf("only %d statements were seen", n)
	}
}

// TestListPassesOverByTerm lists a label that is too common for its segments to be merged.
// It must not read the checkpoints between those that have it.
func TestListPassesOverByTerm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{Sync: sqlitestore.SyncNormal})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := storetest.NewBuilder()
	const threads, every = 4000, 20
	for i := range threads {
		l := b.Log(fmt.Sprint("t", i))
		h := posthouse.Header{Status: posthouse.StatusRunning, Graph: "shop"}
		if i%every == 0 {
			h.Labels = map[string]string{"customer": "7"}
		}
		if err := s.Append(t.Context(), l.Next(l.Checkpoint(h, "state"))); err != nil {
			t.Fatal(err)
		}
	}
	for _, back := range []bool{false, true} {
		asked, entries := map[string][]string{}, 0
		s.FailRead(t, func(sql string) error {
			asked[sql] = []string{"by label"}
			if strings.Contains(sql, "e.body") || strings.HasSuffix(sql, "WHERE e.id = ?1") {
				entries++
			}
			return nil
		})
		found := 0
		for h, err := range s.List(t.Context(), posthouse.Query{Graph: "shop", Label: "customer", LabelValue: "7", Descending: back, Limit: 50}) {
			if err != nil {
				t.Fatal(err)
			}
			want := found * every
			if back {
				want = threads - every - found*every
			}
			if h.Thread != fmt.Sprint("t", want) {
				t.Fatalf("checkpoint %d is of thread %s, not t%d", found, h.Thread, want)
			}
			found++
		}
		if found != 50 || entries > 60 {
			t.Errorf("%d found, %d entries read", found, entries)
		}
		s.FailRead(t, nil)
		explain(t, path, asked)
	}
}

// explain fails for statements that read a table from its start or sort, and returns how
// many it has looked at. Each has the queries that ran it.
func explain(t *testing.T, path string, asked map[string][]string) (explained int) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for sql, queries := range asked {
		if !strings.HasPrefix(sql, "SELECT") {
			continue
		}
		explained++
		stmt, _, err := c.PrepareTransient("EXPLAIN QUERY PLAN " + sql)
		if err != nil {
			t.Fatalf("%v in %s", err, sql)
		}
		for {
			row, err := stmt.Step()
			if err != nil {
				t.Fatal(err)
			}
			if !row {
				break
			}
			line := stmt.ColumnText(3)
			reads := strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "CONSTANT ROW") && !strings.Contains(line, "(subquery")
			if reads || strings.Contains(line, "TEMP B-TREE") {
				t.Errorf("%v: %s\n%s", queries, line, sql)
			}
		}
		if err := stmt.Finalize(); err != nil {
			t.Fatal(err)
		}
	}
	return explained
}

func drain[T any](t *testing.T, all func(func(T, error) bool)) {
	t.Helper()
	found := 0
	for _, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		found++
	}
	if found == 0 {
		t.Error("nothing was found")
	}
}
