package servertest

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// A Store is one that can check itself.
type Store interface {
	posthouse.Store
	posthouse.Checker
}

// Take appends the next entry of a log, and moves the log to it.
func Take(t storetest.TB, s posthouse.Store, l *storetest.Log, items ...storetest.Item) *posthouse.Batch {
	t.Helper()
	b := l.Next(items...)
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	l.Took(b)
	return b
}

// Entries returns those of a thread.
func Entries(t storetest.TB, s posthouse.Store, thread string) (es []*posthouse.Entry) {
	t.Helper()
	for e, err := range s.Read(t.Context(), thread, posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	return es
}

// WantSound wants a log that chains, from its first entry, of n entries, and a store that
// finds nothing wrong with itself.
func WantSound(t storetest.TB, s Store, thread string, n int) {
	t.Helper()
	var info posthouse.ThreadInfo
	es := Entries(t, s, thread)
	for _, e := range es {
		if err := e.Check(); err != nil {
			t.Error(err)
		}
		if err := info.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if len(es) != n {
		t.Errorf("thread %q has %d entries, want %d", thread, len(es), n)
	}
	WantChecked(t, s)
}

// WantChecked wants a store that finds nothing wrong with itself.
func WantChecked(t storetest.TB, s Store) {
	t.Helper()
	for err := range s.Check(t.Context()) {
		t.Errorf("Check: %v", err)
	}
}
