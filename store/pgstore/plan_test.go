package pgstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/pgtest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestPlans asks the planner, with its own settings, how it would answer queries of a
// store of 10,000 checkpoints: by an index, never by reading a table or sorting a list.
func TestPlans(t *testing.T) {
	const threads, each = 200, 50
	s := open(t, pgstore.Options{})
	b := storetest.NewBuilder()
	for i := range threads {
		l := b.Log(fmt.Sprintf("t%04d", i))
		var batches []*posthouse.Batch
		for n := range each {
			h := posthouse.Header{
				Run: fmt.Sprint("run-", i), Coordination: []string{"", "desk"}[i%2], Status: posthouse.StatusRunning,
				Labels: map[string]string{"customer": fmt.Sprint(i % 100), "tier": fmt.Sprint(n % 2)},
			}
			items := []storetest.Item{l.Checkpoint(h, "state")}
			if n == each-1 {
				items = append(items, l.GateOf(b.GateID(), posthouse.GateInfo{ExpiresAt: b.Now()}))
			}
			batch := l.Next(items...)
			l.Took(batch)
			batches = append(batches, batch)
		}
		if err := s.AppendAll(t.Context(), batches); err != nil {
			t.Fatal(err)
		}
	}
	c := connect(t, pgtest.URL(t))
	for _, table := range []string{"threads", "entries", "ids", "gates"} {
		run(t, c, "VACUUM ANALYZE posthouse."+table)
	}
	type query struct {
		sql  string
		args []any
	}
	of := func(sql string, args []any) query { return query{sql, args} }
	for name, q := range map[string]query{
		"latest":                of(s.ListStatement(posthouse.Query{Descending: true}, 1)),
		"latest of a thread":    of(s.ListStatement(posthouse.Query{Thread: "t0007", Descending: true}, 1)),
		"a page of a thread":    of(s.ListStatement(posthouse.Query{Thread: "t0007", From: 3}, 50)),
		"by a rare label":       of(s.ListStatement(posthouse.Query{Label: "customer", LabelValue: "7"}, 50)),
		"by a common label":     of(s.ListStatement(posthouse.Query{Label: "tier", LabelValue: "1"}, 50)),
		"by run":                of(s.ListStatement(posthouse.Query{Run: "run-7"}, 50)),
		"by coordination":       of(s.ListStatement(posthouse.Query{Coordination: "desk", Descending: true}, 50)),
		"a page of the inbox":   of(s.ThreadsStatement(posthouse.ThreadQuery{Gates: true, People: true}, 50)),
		"the inbox of a person": of(s.ThreadsStatement(posthouse.ThreadQuery{Gates: true, People: true, Person: "alice", After: "gate-1"}, 50)),
		"threads by prefix":     of(s.ThreadsStatement(posthouse.ThreadQuery{Prefix: "t00"}, 50)),
		"waiting threads":       of(s.ThreadsStatement(posthouse.ThreadQuery{Waiting: true}, 50)),
		"threads that are due":  of(s.ThreadsStatement(posthouse.ThreadQuery{DueBefore: 1}, 50)),
		"a log":                 of(s.ReadStatement("t0007", posthouse.Range{To: 1 << 40}, 50)),
		"the end of a log":      of(s.ReadStatement("t0007", posthouse.Range{To: 1 << 40, Reverse: true}, 1)),
		"some entries":          of(s.ReadStatement("t0007", posthouse.Range{Seqs: []uint64{3, 1}}, 0)),
		"a watch":               of(s.WatchStatement(1)),
	} {
		rows, err := c.Query(t.Context(), "EXPLAIN "+q.sql, q.args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var plan []string
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, line)
		}
		if rows.Err() != nil {
			t.Fatalf("%s: %v", name, rows.Err())
		}
		if all := strings.Join(plan, "\n"); strings.Contains(all, "Seq Scan") {
			t.Errorf("%s reads a table:\n%s\n%s", name, q.sql, all)
		}
	}
}
