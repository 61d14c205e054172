package s3store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/s3test"
	"github.com/posthouse/posthouse/store/s3store"
	"github.com/posthouse/posthouse/store/storetest"
)

const (
	bucket = "bucket"
	prefix = "desk/"
)

// open opens the store of the test on a server.
func open(t testing.TB, server *s3test.Server, o s3store.Options) *s3store.Store {
	t.Helper()
	s, err := tryOpen(t, server, bucket, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryOpen(t testing.TB, server *s3test.Server, bucket string, o s3store.Options) (*s3store.Store, error) {
	t.Helper()
	s, err := s3store.Open(t.Context(), server.URL(bucket, prefix), options(o))
	if s != nil {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s, err
}

// take appends one entry and moves the log behind it.
func take(t testing.TB, s posthouse.Store, l *storetest.Log, items ...storetest.Item) *posthouse.Batch {
	t.Helper()
	b := l.Next(items...)
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	l.Took(b)
	return b
}

// read returns a thread's entries, and the error that they end with.
func read(t testing.TB, s posthouse.Store, thread string) (es []*posthouse.Entry, err error) {
	t.Helper()
	for e, err := range s.Read(t.Context(), thread, posthouse.Range{}) {
		if err != nil {
			return es, err
		}
		es = append(es, e)
	}
	return es, nil
}

// wantSound wants a log that chains, from its first entry, of n entries, and a store that
// finds nothing wrong with itself.
func wantSound(t testing.TB, s *s3store.Store, thread string, n int) {
	t.Helper()
	var info posthouse.ThreadInfo
	es, err := read(t, s, thread)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if err := errors.Join(e.Check(), info.Apply(e)); err != nil {
			t.Fatal(err)
		}
	}
	if len(es) != n {
		t.Errorf("thread %q has %d entries, want %d", thread, len(es), n)
	}
	wantChecked(t, s)
}

func wantChecked(t testing.TB, s *s3store.Store) {
	t.Helper()
	for err := range s.Check(t.Context()) {
		t.Errorf("Check: %v", err)
	}
}

// soon is for stores whose service does not answer.
const soon = 200 * time.Millisecond
