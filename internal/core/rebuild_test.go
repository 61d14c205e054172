package core_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// TestAReaderKeepsBodiesAndCountsThemOnce reads entries again that a reader has,
// without their bodies, as rebuilding a state behind many splices does.
func TestAReaderKeepsBodiesAndCountsThemOnce(t *testing.T) {
	l, size := open(t, nil), 0
	for range 5 {
		must[*posthouse.Committed](t)(l.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
			Parts: []posthouse.Part{{Name: "p", Data: []byte(`"0123456789"`)}, {Name: "q", Data: []byte(`"` + string(l.Core().NewID()) + `"`)}}, Kind: posthouse.KindNode,
		}}))
	}
	for e, err := range l.Log(t.Context(), "t", posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range e.Bodies {
			size += len(b)
		}
	}
	have, counted, err := l.Core().FetchAll(t.Context(), "t")
	if err != nil || have != 5 || counted != size {
		t.Errorf("%d of 5 entries with bodies, %d bytes counted of %d: %v", have, counted, size, err)
	}
}
