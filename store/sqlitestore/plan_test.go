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
		h := posthouse.Header{Run: fmt.Sprint("run-", i), Coordination: "desk", Status: posthouse.StatusRunning, Labels: map[string]string{"customer": fmt.Sprint(i % 5)}}
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
	c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	explained := 0
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
	if explained < 12 {
		t.Errorf("only %d statements were seen", explained)
	}
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
