package pgstore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/pgstore"
)

// TestBaseline: rows of many callers are in the bare table when their calls return, and one that cannot be
// written is an error. The store's own tables do not change.
func TestBaseline(t *testing.T) {
	s, c := open(t, pgstore.Options{}), connect(t, pgtest.URL(t))
	insert := must.Get(s.Baseline(t.Context()))(t)
	base := time.Now().UnixNano() // the table stays when the test runs again
	var all sync.WaitGroup
	failed := make(chan error, 50)
	for i := range int64(50) {
		all.Go(func() { failed <- insert(t.Context(), base+i%5, i, fmt.Appendf(nil, "row %d", i)) })
	}
	all.Wait()
	for range 50 {
		must.Do(t, <-failed)
	}
	if err := insert(t.Context(), base, 0, nil); err == nil {
		t.Error("a row was written twice")
	}
	must.Do(t, insert(t.Context(), base+7, 0, []byte("after it")))
	var rows int
	must.Do(t, c.QueryRow(t.Context(), inSchema(t, "SELECT count(*) FROM posthouse.baseline WHERE thread >= $1"), base).Scan(&rows))
	if rows != 51 {
		t.Errorf("there are %d rows", rows)
	}
	for _, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		t.Errorf("the store has a thread, or an error: %v", err)
	}
	again := must.Get(s.Baseline(t.Context()))(t) // the table is there already
	must.Do(t, again(t.Context(), base+8, 0, nil))
	must.Do(t, s.Close())
	if _, err := s.Baseline(t.Context()); err == nil {
		t.Error("a closed store makes a baseline")
	}
}
