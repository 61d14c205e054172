package threadlog_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestReaderKeepsBodiesAndCountsThemOnce reads entries again that a reader has,
// without their bodies, as rebuilding a state after many splices does.
func TestReaderKeepsBodiesAndCountsThemOnce(t *testing.T) {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := l.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
			Parts: []posthouse.Part{{Name: "p", Data: []byte(`"0123456789"`)}, {Name: "q", Data: []byte(`"` + string(l.Core().NewID()) + `"`)}}, Kind: posthouse.KindNode,
		}}); err != nil {
			t.Fatal(err)
		}
	}
	size := 0
	for e, err := range l.Log(t.Context(), "t", posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range e.Bodies {
			size += len(b)
		}
	}
	r := l.Core().Logs.Reader(t.Context(), "t")
	for _, headers := range []bool{false, true, false} {
		if err := r.Fetch(posthouse.Range{Headers: headers}); err != nil {
			t.Fatal(err)
		}
	}
	withBodies := 0
	for _, e := range r.Have {
		if e.HasBodies && len(e.Bodies) > 0 {
			withBodies++
		}
	}
	if withBodies != 5 || r.Size != size {
		t.Errorf("%d of 5 entries with bodies, %d bytes counted of %d", withBodies, r.Size, size)
	}
}
