package sqlitestore_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// marked is the batch of a checkpoint that has what lists filter by.
func (l *line) marked(mark func(*posthouse.Header)) *posthouse.Batch {
	h := l.header(1)
	mark(h)
	return l.seal(h, []byte("x"))
}

// archive fills a store with many short threads and a long one, some terms in
// all of them and some in few, and returns what it has in its order.
func archive(t *testing.T, s posthouse.Store, rnd *rand.Rand) (all []*posthouse.Header) {
	t.Helper()
	ids := idSource()
	lines := []*line{newLine("long", ids)}
	for i := range 200 {
		lines = append(lines, newLine(fmt.Sprintf("thread-%d", i), ids))
	}
	seen := 0
	for i := range 3500 {
		n := 0
		if rnd.IntN(3) > 0 {
			n = rnd.IntN(len(lines))
		}
		commit(t, s, lines[n].marked(func(h *posthouse.Header) {
			h.Run, h.Graph = fmt.Sprintf("run-%d", n%150), []string{"common", "uncommon"}[min(n%20, 1)]
			h.Node = []string{"a", "b", "a+b", "c"}[rnd.IntN(4)]
			h.Labels = map[string]string{"tenant": fmt.Sprint(n % 7)}
			if i%90 == 0 {
				h.Agent, h.Labels["seldom"] = "rare", ""
			}
			if n%11 == 3 && rnd.IntN(3) == 0 { // written late: it is before what the thread has
				h.ID, h.Order = posthouse.ID(fmt.Sprint("foreign-", i)), orderOf(all[rnd.IntN(len(all))].ID)
			}
			if n%13 == 5 {
				h.Coordination = "desk"
			}
		}))
		if n == 0 {
			seen++
		}
		all = append(all, lines[n].head)
		if rnd.IntN(9) == 0 {
			commit(t, s, lines[n].step([]byte("y")))
		}
	}
	if seen < 1024 {
		t.Fatalf("the long thread has %d checkpoints", seen)
	}
	return all
}

var indexTermQueries = []posthouse.Query{
	{Run: "run-0"}, {Run: "run-3"}, {Run: "run-149"}, {Run: "nobody"}, {Graph: "common"}, {Graph: "uncommon"}, {Node: "a"}, {Node: "a+b"},
	{Node: "c", Run: "run-17"}, {Agent: "rare"}, {Label: "tenant", LabelValue: "3"}, {Label: "seldom"}, {Label: "tenant"},
	{Label: "seldom", Node: "b"}, {Graph: "common", Agent: "rare"}, {Coordination: "desk", Run: "run-5"}, {Coordination: "long", Agent: "rare"},
	{Coordination: "desk", Node: "c"}, {Agent: "rare", Status: posthouse.StatusDone},
}

// threadTermQueries are about one thread.
var threadTermQueries = []posthouse.Query{
	{Thread: "long", Run: "nobody"}, {Thread: "long", Agent: "rare"}, {Thread: "long", Label: "seldom", Node: "b"}, {Thread: "long", Node: "a"},
	{Thread: "long", Agent: "rare", From: 500, To: 1500}, {Thread: "long", Agent: "rare", Status: posthouse.StatusDone},
	{Thread: "thread-3", Node: "a"}, {Thread: "nothing", Node: "a"},
}

// wantThreadLists is wantLists for lists of one thread.
func wantThreadLists(t *testing.T, s posthouse.Store) {
	t.Helper()
	for _, q := range threadTermQueries {
		var want []posthouse.ID
		for h, err := range s.List(t.Context(), posthouse.Query{Thread: q.Thread}) {
			if err != nil {
				t.Fatal(err)
			}
			if q.Match(h) {
				want = append(want, h.ID)
			}
		}
		for _, q.Descending = range []bool{false, true} {
			if q.Descending {
				slices.Reverse(want)
			}
			for _, limit := range []int{1, 7, 100, 10_000} {
				if limit == 1 && len(want) > 300 {
					continue
				}
				if got := listed(t, s, q, limit); !slices.Equal(got, want) {
					t.Errorf("%+v by %d: %d checkpoints, want %d", q, limit, len(got), len(want))
				}
			}
		}
	}
}

// wantLists compares lists with what the headers say themselves.
func wantLists(t *testing.T, s posthouse.Store, rnd *rand.Rand) {
	t.Helper()
	wantThreadLists(t, s)
	var all []*posthouse.Header
	for h, err := range s.List(t.Context(), posthouse.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	for _, q := range indexTermQueries {
		var want []posthouse.ID
		for _, h := range all {
			if q.Match(h) {
				want = append(want, h.ID)
			}
		}
		for _, q.Descending = range []bool{false, true} {
			if q.Descending {
				slices.Reverse(want)
			}
			for _, limit := range []int{len(all), 1 + rnd.IntN(20), 30 + rnd.IntN(100)} {
				if limit < 20 && len(want) > 300 {
					continue
				}
				if got := listed(t, s, q, limit); !slices.Equal(got, want) {
					t.Errorf("%+v by %d: %d checkpoints, want %d", q, limit, len(got), len(want))
				}
			}
		}
	}
}

// TestListsByIndexTerm lists by what is indexed, alone and with other filters, in
// either direction, whole and in pages: while it is written, from a database
// made before there was the index, read-only, and after threads, or the
// beginnings of some, were removed.
func TestListsByIndexTerm(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine lists some 10,000 checkpoints in many ways")
	}
	rnd := rand.New(rand.NewPCG(8, 1))
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, &sqlitestore.Options{Sync: sqlitestore.SyncNormal})
	archive(t, s, rnd)
	wantLists(t, s, rnd)
	noDifference(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	var rows string
	inspect(t, path, func(c *sqlite.Conn) {
		rows = value(t, c, "SELECT count(*) FROM terms")
		script(t, c, "DROP TABLE terms; DROP TABLE gates; DROP TABLE marks; ALTER TABLE slots DROP COLUMN sum; DROP INDEX threads_minute; ALTER TABLE threads DROP COLUMN minute; PRAGMA user_version=1")
	})
	s = open(t, path, &sqlitestore.Options{Sync: sqlitestore.SyncNormal})
	noDifference(t, s)
	wantLists(t, s, rnd)
	for i := range 60 {
		r := posthouse.Removal{Thread: fmt.Sprintf("thread-%d", i), Below: uint64(1 + rnd.IntN(9))}
		if i%3 == 0 {
			r = posthouse.Removal{Thread: r.Thread, All: true}
		}
		if _, err := s.Remove(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "long", Below: 1030}); err != nil {
		t.Fatal(err)
	}
	wantLists(t, s, rnd)
	noDifference(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	wantLists(t, open(t, path, &sqlitestore.Options{ReadOnly: true}), rnd)
	s = open(t, path, nil)
	inspect(t, path, func(c *sqlite.Conn) {
		if have := value(t, c, "SELECT count(*) FROM terms"); have >= rows {
			t.Errorf("%s rows are left of %s", have, rows)
		}
	})
	for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err == nil {
			_, err = s.Remove(t.Context(), posthouse.Removal{Thread: info.Thread, All: true})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	inspect(t, path, func(c *sqlite.Conn) {
		if left := value(t, c, "SELECT count(*) FROM terms"); left != "0" {
			t.Errorf("%s rows are left of nothing", left)
		}
	})
}

// TestListByTermReadsWhatItFinds counts what is read for a list by what few
// checkpoints have, and by what all have.
func TestListByTermReadsWhatItFinds(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), &sqlitestore.Options{Sync: sqlitestore.SyncNormal})
	ids := idSource()
	for i := range 300 {
		l := newLine(fmt.Sprintf("thread-%d", i), ids)
		for range 10 {
			commit(t, s, l.marked(func(h *posthouse.Header) {
				h.Run = fmt.Sprintf("run-%d", i)
				if i%10 == 0 {
					h.Agent = "tenth"
				}
			}))
		}
	}
	for _, c := range []struct {
		q            posthouse.Query
		found, reads int
	}{
		{posthouse.Query{Run: "run-7"}, 10, 10},
		{posthouse.Query{Run: "run-7", Descending: true, Limit: 1}, 1, 10},
		{posthouse.Query{Run: "none"}, 0, 10},
		{posthouse.Query{Run: "run-7", Graph: "bench"}, 10, 12},
		{posthouse.Query{Graph: "bench", Limit: 20}, 20, 40},
		{posthouse.Query{Agent: "tenth"}, 300, 30*4 + 20},
	} {
		reads := 0
		s.FailRead(t, func(sql string) error {
			if !strings.HasPrefix(sql, "BEGIN") && sql != "COMMIT" {
				reads++
			}
			return nil
		})
		found := 0
		for _, err := range s.List(t.Context(), c.q) {
			if err != nil {
				t.Fatal(err)
			}
			found++
		}
		if found != c.found || reads > c.reads {
			t.Errorf("%+v: %d checkpoints in %d reads, want %d in at most %d", c.q, found, reads, c.found, c.reads)
		}
		s.FailRead(t, nil)
	}
}

// TestListByTermSeesWhatIsRemoved: what goes while a list is read is not in
// what is read of it later.
func TestListByTermSeesWhatIsRemoved(t *testing.T) {
	s, ids := openStore(t), idSource()
	lines := make([]*line, 5)
	for i := range lines {
		lines[i] = newLine(fmt.Sprintf("thread-%d", i), ids)
	}
	const each = 40
	for range each {
		for _, l := range lines {
			commit(t, s, l.node([]byte("x")))
		}
	}
	for _, back := range []bool{false, true} {
		n := 0
		seen := map[posthouse.ID]bool{}
		for h, err := range s.List(t.Context(), posthouse.Query{Run: "run-1", Descending: back}) {
			if err != nil {
				t.Fatal(err)
			}
			if seen[h.ID] {
				t.Errorf("%s twice", h.ID)
			}
			seen[h.ID] = true
			if n++; n == 10 {
				gone := lines[len(lines)-1].info.Thread
				lines = lines[:len(lines)-1]
				if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: gone, All: true}); err != nil {
					t.Fatal(err)
				}
			}
		}
		// The first page, 16 of them, was read before.
		if want := 16 + (len(lines)+1)*each - 16; n >= want || n < len(lines)*each {
			t.Errorf("%d checkpoints, want less than %d and no less than %d", n, want, len(lines)*each)
		}
	}
}
