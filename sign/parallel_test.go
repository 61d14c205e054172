package sign_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestVerifyWalksThreadsAtOnce has the reading of each thread wait for that of
// another: the report is in the order of names all the same.
func TestVerifyWalksThreadsAtOnce(t *testing.T) {
	key, store := newKey(t), memstore.New()
	l := openLedger(t, store, key, newClock().Now)
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprint("t", i))
		must.Get(l.Save(t.Context(), posthouse.Root(names[i], posthouse.State{}), nil))(t)
	}
	s := &meeting{tampered: tampered{Store: store, log: func(_ string, es []*posthouse.Entry) []*posthouse.Entry {
		es = cloneEntries(es)
		es[0].Header[3] ^= 1
		return es
	}}, both: make(chan struct{})}
	var told []string
	r := verify(t, s, ringOf(t, key), &sign.VerifyOptions{Concurrency: 2, Progress: func(r *sign.ThreadReport) { told = append(told, r.Thread) }})
	if !slices.Equal(told, names) {
		t.Errorf("told of %q, want %q", told, names)
	}
	var faulty []string
	for _, f := range r.Faults {
		faulty = append(faulty, f.Thread)
	}
	if !slices.IsSorted(faulty) || len(slices.Compact(faulty)) != len(names) {
		t.Errorf("the faults are of %q", faulty)
	}
}

// A meeting blocks reads until two threads are being read.
type meeting struct {
	tampered
	mu     sync.Mutex
	first  string
	closed bool
	both   chan struct{}
}

func (m *meeting) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	m.mu.Lock()
	if m.first == "" {
		m.first = thread
	} else if m.first != thread && !m.closed {
		m.closed = true
		close(m.both)
	}
	m.mu.Unlock()
	<-m.both
	return m.tampered.Read(ctx, thread, r)
}

// TestVerifyTellsHowFarItIs counts the entries of one long thread on the way.
func TestVerifyTellsHowFarItIs(t *testing.T) {
	key, store := newKey(t), memstore.New()
	l := openLedger(t, store, key, newClock().Now)
	c := must.Get(l.Save(t.Context(), posthouse.Root("t", posthouse.State{}), nil))(t)
	for range 4999 {
		c = must.Get(l.Save(t.Context(), c.Derive(posthouse.State{}), nil))(t)
	}
	var told []sign.Verified
	r := verify(t, store, ringOf(t, key), &sign.VerifyOptions{Walked: func(v sign.Verified) { told = append(told, v) }})
	wantClean(t, r)
	if len(told) < 4 || told[0].Entries >= 5000 || told[0].Threads != 0 {
		t.Fatalf("told %v", told)
	}
	last := told[len(told)-1]
	if last.Entries != 5000 || last.Bytes != r.Bytes || last.Threads != 1 {
		t.Errorf("at the end told %+v of %+v", last, r)
	}
	if !slices.IsSortedFunc(told, func(a, b sign.Verified) int { return a.Entries - b.Entries }) {
		t.Errorf("told %v", told)
	}
}
