package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/reads"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// longThread saves a thread of n checkpoints and returns their ids.
func longThread(t testing.TB, l *ledger.Ledger, n int) (ids []posthouse.ID) {
	t.Helper()
	c := must.Get(l.Save(t.Context(), posthouse.Root("t", opaque(t, 0)), nil))(t)
	for i := range n {
		ids = append(ids, c.ID)
		c = must.Get(l.Save(t.Context(), c.Derive(opaque(t, i)), nil))(t)
	}
	return append(ids, c.ID)
}

// TestComparisonReadsWhatLiesBetween: to find where two checkpoints of a thread
// part takes what lies between them, not the way back to its root.
func TestComparisonReadsWhatLiesBetween(t *testing.T) {
	s := &reads.Counter{Store: memstore.New()}
	l := must.Get(ledger.Open(s, nil))(t)
	ids := longThread(t, l, 5000)
	fork := must.Get(l.Fork(t.Context(), ids[4000], nil))(t)
	for _, c := range []struct {
		a, b, ancestor posthouse.ID
		most           int
	}{
		{ids[5000], ids[4999], ids[4999], 600},
		{ids[4990], ids[5000], ids[4990], 600},
		{ids[5000], fork.ID, ids[4000], 2600},
		{ids[0], ids[5000], ids[0], 8000},
	} {
		s.N = 0
		cmp := must.Get(diff.Compare(t.Context(), l, c.a, c.b))(t)
		if cmp.Ancestor != c.ancestor || s.N > c.most {
			t.Errorf("the ancestor is %s after %d reads, want %s after at most %d", cmp.Ancestor, s.N, c.ancestor, c.most)
		}
	}
}

// TestCountOfAThreadReadsItsSummary: how many checkpoints a thread has is in its
// summary, and is what its list has.
func TestCountOfAThreadReadsItsSummary(t *testing.T) {
	s := &reads.Counter{Store: memstore.New()}
	l := must.Get(ledger.Open(s, nil))(t)
	ids := longThread(t, l, 100)
	check := func(what string, q posthouse.Query) {
		t.Helper()
		s.N = 0
		have := must.Get(ledger.Count(t.Context(), l, q))(t)
		read, want := s.N, 0
		for range l.List(t.Context(), q) {
			want++
		}
		if have != want || read > 1 {
			t.Errorf("%s: counted %d of %d, reading %d headers, entries and summaries", what, have, want, read)
		}
	}
	q := posthouse.Query{Thread: "t"}
	check("as saved", q)
	must.Get(retain.Delete(t.Context(), l, ids[100], nil))(t)
	fork := must.Get(l.Fork(t.Context(), ids[10], nil))(t)
	check("with a fork, one deleted", q)
	again := must.Get(l.Get(t.Context(), fork.ID))(t)
	again.State = opaque(t, "replaced")
	must.Get(l.Save(t.Context(), again, &ledger.SaveOptions{Replace: true}))(t)
	check("one replaced", q)
	check("a limit", posthouse.Query{Thread: "t", Limit: 7})
	check("a thread that is not there", posthouse.Query{Thread: "u"})
	must.Get(l.Release(t.Context(), "t", nil))(t)
	check("released", q)
	must.Get(l.Save(t.Context(), posthouse.Root("t", opaque(t, 1)), nil))(t)
	check("begun anew", q)
	must.Get(retain.DeleteThread(t.Context(), l, "t", nil))(t)
	check("deleted", q)
}

// BenchmarkCompare compares the head of a thread with its parent, and with what
// lies 20,000 checkpoints back.
func BenchmarkCompare(b *testing.B) {
	const n = 20_000
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := must.Get(ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { at = at.Add(time.Millisecond); return at }}))(b)
	ids := longThread(b, l, n)
	for _, back := range []int{1, n} {
		b.Run(fmt.Sprint("back=", back), func(b *testing.B) {
			for b.Loop() {
				must.Get(diff.Compare(b.Context(), l, ids[n-back], ids[n]))(b)
			}
		})
	}
}
