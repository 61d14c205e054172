package ledger_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A reading store counts the entries that are read with their bodies.
type reading struct {
	posthouse.Store
	n atomic.Int64
}

func (s *reading) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range s.Store.Read(ctx, thread, r) {
			if err == nil && !r.Headers {
				s.n.Add(1)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// turn is what a run of a program does: it claims the thread, reads the head's
// state, appends to it and gives the thread back. It returns the state it read.
func turn(t *testing.T, l *ledger.Ledger, n int) string {
	t.Helper()
	claim, err := l.Claim(t.Context(), "t", fmt.Sprint("run", n))
	if err != nil {
		t.Fatal(err)
	}
	data := ""
	var head posthouse.ID
	if info := claim.Found(); info != nil {
		b, _ := info.Branch("")
		c, err := l.Get(t.Context(), b.Head)
		if err != nil {
			t.Fatal(err)
		}
		data, head = string(c.State["log"].Data), b.Head
		for i := range c.State["log"].Data {
			c.State["log"].Data[i] = '#' // it is the caller's own
		}
	}
	change := &posthouse.Change{Kind: posthouse.KindSave, Parts: []posthouse.Part{{
		Name: "log", Codec: "raw", Splice: data != "", Prefix: len(data), Data: fmt.Appendf(nil, "%0400d", n),
	}, {Name: "n", Codec: "raw", Data: fmt.Append(nil, n)}}}
	if _, err := l.Commit(t.Context(), &ledger.Draft{Thread: "t", Claim: claim, Head: &head, Checkpoint: change}); err != nil {
		t.Fatal(err)
	}
	if err := claim.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	return data
}

// A run reads what it needs of a long thread's log once in a process: later runs
// read no more than the head's own entry, unless another process has appended
// since, and all of them read what is on record.
func TestRunsOfALongThreadReadItOnce(t *testing.T) {
	const turns = 200
	s := &reading{Store: memstore.New()}
	open := func(owner string) *ledger.Ledger {
		l, err := ledger.Open(s, &ledger.Options{Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	want := ""
	step := func(l *ledger.Ledger, n int) int64 {
		before := s.n.Load()
		if have := turn(t, l, n); have != want {
			t.Fatalf("turn %d read %d bytes, want %d", n, len(have), len(want))
		}
		want += fmt.Sprintf("%0400d", n)
		return s.n.Load() - before
	}
	a := open("a")
	for n := range turns {
		if read := step(a, n); read > 2 {
			t.Fatalf("turn %d read %d entries", n, read)
		}
	}
	b := open("b") // another process
	if read := step(b, turns); read < 2 {
		t.Fatalf("another process read %d entries", read)
	}
	if read := step(b, turns+1); read > 2 {
		t.Fatalf("its next turn read %d entries", read)
	}
	step(a, turns+2) // what it knew is not the head any more
	if read := step(a, turns+3); read > 2 {
		t.Fatalf("the next turn read %d entries", read)
	}
}
