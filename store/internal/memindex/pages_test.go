package memindex

import (
	"fmt"
	"iter"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// large returns an index of so many threads, each with 50 checkpoints and a gate that waits.
// It counts in steps what is passed in its lists.
func large(t *testing.T, threads int) (ix *index, steps *int) {
	t.Helper()
	ix, steps = New(), new(int)
	b := storetest.NewBuilder()
	for i := range threads {
		l := b.Log(fmt.Sprintf("t%04d", i))
		for n := range 50 {
			h := posthouse.Header{
				Kind: posthouse.KindInput, Run: fmt.Sprint("run-", i), Coordination: []string{"", "desk"}[i%2], Status: posthouse.StatusRunning,
				Labels: map[string]string{"customer": fmt.Sprint(n % 20)},
			}
			items := []storetest.Item{l.Checkpoint(h, "state")}
			if n == 49 {
				items = append(items, l.GateOf(b.GateID(), posthouse.GateInfo{ExpiresAt: b.Now()}))
			}
			batch := l.Next(items...)
			ix.Add(Take(batch, batch.Entry))
			l.Took(batch)
		}
	}
	ix.marks.steps, ix.rows.steps, ix.names.steps, ix.active.steps, ix.due.steps = steps, steps, steps, steps, steps
	for _, c := range ix.coords {
		c.steps = steps
	}
	for _, g := range ix.gates {
		g.steps = steps
	}
	for _, th := range ix.threads {
		th.rows.steps = steps
	}
	return ix, steps
}

// TestPagesPassFewItems counts what a page of 50 passes in the lists of the index: as much
// among 10,000 checkpoints as among 1,000, and no more than it needs.
func TestPagesPassFewItems(t *testing.T) {
	list := func(q posthouse.Query) func(*index) int {
		return func(ix *index) int { q.Limit = 50; return count(t, ix.List(t.Context(), q)) }
	}
	walk := func(q posthouse.ThreadQuery) func(*index) int {
		return func(ix *index) int { q.Limit = 50; return count(t, ix.Threads(t.Context(), q)) }
	}
	pages := map[string]struct {
		read func(*index) int
		most int
	}{
		"all":                   {list(posthouse.Query{}), 50},
		"the newest":            {list(posthouse.Query{Descending: true}), 50},
		"a history":             {list(posthouse.Query{Thread: "t0007"}), 50},
		"the end of a history":  {list(posthouse.Query{Thread: "t0007", Descending: true}), 50},
		"a coordination":        {list(posthouse.Query{Coordination: "desk"}), 50},
		"one label in twenty":   {list(posthouse.Query{Label: "customer", LabelValue: "7"}), 20 * 50},
		"the inbox":             {walk(posthouse.ThreadQuery{Gates: true, People: true}), 51},
		"the newest in it":      {walk(posthouse.ThreadQuery{Gates: true, People: true, Descending: true}), 51},
		"the inbox of a person": {walk(posthouse.ThreadQuery{Gates: true, People: true, Person: "alice"}), 51},
		"threads":               {walk(posthouse.ThreadQuery{}), 50},
		"threads by prefix":     {walk(posthouse.ThreadQuery{Prefix: "t000"}), 50},
		"newest of a label":     {walk(posthouse.ThreadQuery{Label: "customer", LabelValue: "9", Newest: true}), 50},
		"newest of a status":    {walk(posthouse.ThreadQuery{Status: posthouse.StatusRunning, Newest: true}), 50},
		"a search":              {walk(posthouse.ThreadQuery{Text: "t0", Newest: true}), 210},
		"waiting threads":       {walk(posthouse.ThreadQuery{Waiting: true}), 50},
		"threads that are due":  {walk(posthouse.ThreadQuery{DueBefore: 1 << 50}), 51},
	}
	passed := map[string]int{}
	for _, threads := range []int{20, 200} {
		ix, steps := large(t, threads)
		for name, p := range pages {
			*steps = 0
			found := p.read(ix)
			if *steps > p.most {
				t.Errorf("%s of %d checkpoints: %d are found, and %d items passed; at most %d are allowed", name, 50*threads, found, *steps, p.most)
			}
			if found == 0 || *steps < found-1 {
				t.Errorf("%s of %d checkpoints: %d are found, and %d items are counted", name, 50*threads, found, *steps)
			}
			if found == 50 && threads == 200 {
				passed[name]++
			}
		}
	}
	if len(passed) < len(pages)-1 {
		t.Errorf("only %v are whole pages", passed)
	}

	// The control: a run that no index knows is looked for among all.
	ix, steps := large(t, 200)
	if found := list(posthouse.Query{Run: "run-199"})(ix); found != 50 || *steps < 9000 {
		t.Errorf("without an index %d are found, and %d items are counted", found, *steps)
	}
}

func count[T any](t *testing.T, all iter.Seq2[T, error]) (n int) {
	t.Helper()
	for _, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
