package s3store_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/store/s3store"
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

// soon is the timeout of stores that get no answer.
const soon = 200 * time.Millisecond
