package pgstore_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestPlans runs the queries of pages on a store of 10,000 checkpoints, with the planner's
// own settings and with those of the store. They are answered by an index: a page of 50
// never reads a table, and neither walks nor sorts much more than it shows.
func TestPlans(t *testing.T) {
	const threads, each = 200, 50
	s := open(t, pgstore.Options{})
	b := storetest.NewBuilder()
	for i := range threads {
		l := b.Log(fmt.Sprintf("t%04d", i))
		var batches []*posthouse.Batch
		for n := range each {
			h := posthouse.Header{
				Kind: posthouse.KindInput, Run: fmt.Sprint("run-", i), Coordination: []string{"", "desk"}[i%2], Status: posthouse.StatusRunning,
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
	for _, table := range []string{"threads", "entries", "ids", "gates", "marks"} {
		run(t, c, "VACUUM ANALYZE posthouse."+table)
	}
	type query struct {
		sql  string
		args []any
	}
	indexes := map[string]string{"newest threads": "threads_minute", "newest, a later page": "threads_minute", "newest of a label": "marks_pkey", "newest of a status": "marks_pkey", "a search": "marks_pkey"}
	of := func(sql string, args []any) query { return query{sql, args} }
	var tails []posthouse.Ref
	for i := range 50 {
		tails = append(tails, posthouse.Ref{Thread: fmt.Sprintf("t%04d", i), Seq: each})
	}
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
		"newest threads":        of(s.ThreadsStatement(posthouse.ThreadQuery{Newest: true}, 50)),
		"newest, a later page":  of(s.ThreadsStatement(posthouse.ThreadQuery{Newest: true, After: "60000.t0100"}, 50)),
		"newest that wait":      of(s.ThreadsStatement(posthouse.ThreadQuery{Newest: true, Waiting: true}, 50)),
		"newest of a prefix":    of(s.ThreadsStatement(posthouse.ThreadQuery{Newest: true, Prefix: "t00"}, 50)),
		"newest of a label":     of(s.ThreadsStatement(posthouse.ThreadQuery{Newest: true, Label: "customer", LabelValue: "7"}, 50)),
		"newest of a status":    of(s.ThreadsStatement(posthouse.ThreadQuery{Newest: true, Status: posthouse.StatusRunning, After: "60000.t0100"}, 50)),
		"a search":              of(s.SetStatement(posthouse.ThreadQuery{Newest: true, Text: "t003"})),
		"threads that are due":  of(s.ThreadsStatement(posthouse.ThreadQuery{DueBefore: 1}, 50)),
		"a log":                 of(s.ReadStatement("t0007", posthouse.Range{To: 1 << 40}, 50)),
		"the end of a log":      of(s.ReadStatement("t0007", posthouse.Range{To: 1 << 40, Reverse: true}, 1)),
		"some entries":          of(s.PlacesStatement([]posthouse.Ref{{Thread: "t0007", Seq: 3}, {Thread: "t0007", Seq: 1}})),
		"entries of threads":    of(s.PlacesStatement(tails)),
		"a watch":               of(s.WatchStatement(1)),
	} {
		for _, seqscan := range []string{"on", "off"} { // off is what the store has
			run(t, c, "SET enable_seqscan = "+seqscan)
			plan := explain(t, c, q.sql, q.args)
			if index := indexes[name]; index != "" && !plan.uses(index) {
				t.Errorf("%s, with enable_seqscan %s, does not walk index %s:\n%s", name, seqscan, index, q.sql)
			}
			for _, wrong := range plan.wrong() {
				text, _ := json.MarshalIndent(plan, "", " ")
				t.Errorf("%s, with enable_seqscan %s, %s:\n%s\n%s", name, seqscan, wrong, q.sql, text)
			}
		}
	}
}

// TestPlansAreJudged has the planner answer as it must not: the test above would see it.
func TestPlansAreJudged(t *testing.T) {
	c := connect(t, pgtest.URL(t))
	run(t, c, "CREATE TEMPORARY TABLE numbers AS SELECT n, -n AS m FROM generate_series(1, 10000) n")
	run(t, c, "CREATE INDEX ON numbers (n)")
	run(t, c, "ANALYZE numbers")
	for sql, bad := range map[string]bool{
		"SELECT * FROM numbers LIMIT 50":                                                 true,
		"SELECT * FROM numbers WHERE n > 0 ORDER BY n LIMIT 50":                          false,
		"SELECT * FROM numbers WHERE n > 0 ORDER BY m LIMIT 50":                          true,
		"SELECT * FROM numbers WHERE n > 0 AND m % 1000 = 0 ORDER BY n LIMIT 50":         true,
		"SELECT * FROM (SELECT * FROM numbers ORDER BY n LIMIT 50) page ORDER BY page.m": false,
	} {
		run(t, c, "SET enable_seqscan = on")
		seen := explain(t, c, sql, nil).wrong()
		run(t, c, "SET enable_seqscan = off")
		seen = append(seen, explain(t, c, sql, nil).wrong()...)
		if len(seen) > 0 != bad {
			t.Errorf("%s: seen %v", sql, seen)
		}
	}
}

// most is how many rows a step of a plan may walk or sort: six times what is shown.
const most = 300

// A plan is a step of the planner's answer, with what it did.
type plan struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Rows     float64 `json:"Actual Rows"` // of each loop
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"` // of each loop
	Rechecks float64 `json:"Rows Removed by Index Recheck"`
	Plans    []*plan `json:"Plans"`
}

// explain runs a query and returns the plan that answered it.
func explain(t *testing.T, c *pgx.Conn, sql string, args []any) *plan {
	t.Helper()
	var answer []byte
	if err := c.QueryRow(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "+sql, args...).Scan(&answer); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	var plans []struct{ Plan *plan }
	if err := json.Unmarshal(answer, &plans); err != nil || len(plans) != 1 || plans[0].Plan == nil {
		t.Fatalf("%v in %s", err, answer)
	}
	return plans[0].Plan
}

// uses reports whether a plan walks an index.
func (p *plan) uses(index string) bool {
	return p.Index == index || slices.ContainsFunc(p.Plans, func(below *plan) bool { return below.uses(index) })
}

// wrong returns what a plan does that takes longer in a larger store.
func (p *plan) wrong() (all []string) {
	if p.Type == "Seq Scan" {
		all = append(all, "reads table "+p.Relation)
	}
	if n := (p.Rows + p.Filtered + p.Rechecks) * p.Loops; n > most {
		all = append(all, fmt.Sprintf("walks %.0f rows in %q of %s%s", n, p.Type, p.Relation, p.Index))
	}
	for _, below := range p.Plans {
		if n := below.Rows * below.Loops; n > most && (p.Type == "Sort" || p.Type == "Incremental Sort") {
			all = append(all, fmt.Sprintf("sorts %.0f rows", n))
		}
		all = append(all, below.wrong()...)
	}
	return all
}
