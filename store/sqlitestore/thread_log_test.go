package sqlitestore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestListThroughRuns lists threads that were written in turns, long runs of
// one among rows of others: every checkpoint comes once and in order, wherever
// a list starts and whichever way it goes.
func TestListThroughRuns(t *testing.T) {
	s, rnd, ids := openStore(t), rand.New(rand.NewPCG(4, 2)), idSource()
	lines := make([]*line, 3)
	want := make([][]posthouse.ID, len(lines))
	for i := range lines {
		lines[i] = newLine(fmt.Sprint("thread-", i), ids)
	}
	for range 60 {
		i := rnd.IntN(len(lines))
		for range 1 + rnd.IntN(1+rnd.IntN(30)) {
			if rnd.IntN(8) == 0 {
				id := posthouse.ID(fmt.Sprintf("foreign-%d-%d", i, len(want[i])))
				commit(t, s, lines[i].foreign(id, ""))
			} else {
				commit(t, s, lines[i].node([]byte("x")))
			}
			want[i] = append(want[i], lines[i].head.ID)
			if rnd.IntN(10) == 0 {
				commit(t, s, lines[i].step([]byte("y")))
			}
		}
	}
	for i, l := range lines {
		for _, q := range []posthouse.Query{{Thread: l.info.Thread}, {Coordination: l.info.Thread}} {
			for _, q.Descending = range []bool{false, true} {
				expect := slices.Clone(want[i])
				if q.Descending {
					slices.Reverse(expect)
				}
				if got := listed(t, s, q, len(expect)+1); !slices.Equal(got, expect) {
					t.Errorf("%+v: %d headers, want %d:\n%v\n%v", q, len(got), len(expect), got, expect)
				}
				if got := listed(t, s, q, 1+rnd.IntN(40)); !slices.Equal(got, expect) {
					t.Errorf("%+v in pages: %d headers, want %d:\n%v\n%v", q, len(got), len(expect), got, expect)
				}
			}
		}
	}
}

// listed lists page by page, each after the last one's cursor.
func listed(t *testing.T, s posthouse.Store, q posthouse.Query, limit int) (ids []posthouse.ID) {
	t.Helper()
	q.Limit = limit
	for n := limit; n == limit; {
		n = 0
		for h, err := range s.List(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			ids, q.After, n = append(ids, h.ID), h.Cursor(), n+1
		}
	}
	return ids
}

// TestListWalksTheTable counts what a list looks up: one thread that was
// written alone is read as it lies there, one that was written in turns with
// another by its index.
func TestListWalksTheTable(t *testing.T) {
	s, ids := openStore(t), idSource()
	alone, left, right := newLine("alone", ids), newLine("left", ids), newLine("right", ids)
	fill(t, s, alone, 100, 50)
	for range 50 {
		commit(t, s, left.node([]byte("x")))
		commit(t, s, right.node([]byte("x")))
	}
	for thread, want := range map[string]string{"alone": "index table index", "left": "index"} {
		var walks []string
		s.FailRead(t, func(sql string) error {
			if strings.Contains(sql, "e.id > ?1 ORDER BY e.id") {
				walks = append(walks, "table")
			} else if strings.Contains(sql, "e.thread = ?1 AND e.seq") {
				walks = append(walks, "index")
			}
			return nil
		})
		if got := listed(t, s, posthouse.Query{Thread: thread}, 200); len(got) == 0 || strings.Join(walks, " ") != want {
			t.Errorf("%d headers of thread %s were read by %s, want %s", len(got), thread, walks, want)
		}
	}
	s.FailRead(t, nil)
}
