package ledger_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// TestAsyncObserver blocks an observer: operations go on, events beyond the
// queue are counted, and those in it are told in order before Close returns.
func TestAsyncObserver(t *testing.T) {
	begun, hold := make(chan struct{}), make(chan struct{})
	var told []posthouse.ID
	a := ledger.Async(func(e posthouse.Operation) {
		told = append(told, e.ID)
		if len(told) == 1 {
			close(begun)
			<-hold
			panic("swallowed")
		}
	}, 2)
	save := func(id posthouse.ID) { a.Observe(posthouse.Operation{ID: id}) }
	save("1")
	<-begun
	for _, id := range []posthouse.ID{"2", "3", "4", "5"} {
		save(id)
	}
	if n := a.Dropped(); n != 2 {
		t.Errorf("dropped %d events, want 2", n)
	}
	close(hold)
	a.Close()
	if len(told) != 3 || told[1] != "2" || told[2] != "3" {
		t.Errorf("told %v, want 1 2 3", told)
	}
	save("6")
	if n := a.Dropped(); n != 3 || len(told) != 3 {
		t.Errorf("after Close: dropped %d, told %v", n, told)
	}
}
