package natstask

import (
	"sync/atomic"
	"testing"
)

// TestNothingIsDoneAfterTheEndOfAShift, which waits for what has begun.
func TestNothingIsDoneAfterTheEndOfAShift(t *testing.T) {
	var s shift
	var done atomic.Bool
	cancelled, ended := make(chan struct{}), make(chan struct{})
	if !s.do(func() {
		<-cancelled
		done.Store(true)
	}) {
		t.Fatal("a shift that has begun does nothing")
	}
	go func() {
		defer close(ended)
		s.end(func() {
			if s.do(func() { t.Error("something begins while the end waits") }) {
				t.Error("a shift begins something while its end waits")
			}
			close(cancelled)
		})
		if !done.Load() {
			t.Error("the end has not waited")
		}
	}()
	<-ended
	if s.do(func() { t.Error("something is done") }) {
		t.Error("a shift begins something behind its end")
	}
}
