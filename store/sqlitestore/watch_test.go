package sqlitestore_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/must"
)

// TestWatchesReadTogether: an entry that many watches wait for is read once, and each of them gets it.
func TestWatchesReadTogether(t *testing.T) {
	const watches = 100
	s := openStore(t)
	var reads atomic.Int64
	s.FailRead(t, func(sql string) error {
		if strings.Contains(sql, "CROSS JOIN threads t ON t.id = e.thread") && strings.Contains(sql, "e.id > ") {
			reads.Add(1)
		}
		return nil
	})
	l := newLine("t", nil)
	must.Do(t, s.Append(t.Context(), l.step([]byte("1"))))
	var open sync.WaitGroup
	seen := make(chan uint64, watches)
	for range watches {
		open.Go(func() {
			n := uint64(0)
			for e, err := range s.Watch(t.Context(), "") {
				if err != nil {
					t.Error(err)
					return
				}
				n++
				if e.Seq != n {
					t.Errorf("entry %d comes as the %d. of a watch", e.Seq, n)
				}
				e.Bodies = nil // it is this watch's own
				seen <- e.Seq
				if n == 3 {
					return
				}
			}
		})
	}
	for n := int64(1); n <= 3; n++ {
		for range watches {
			<-seen
		}
		// The first is read by each, which has not waited yet.
		if got := reads.Load(); got > watches+3*(n-1) {
			t.Errorf("after entry %d there were %d reads", n, got)
		}
		if n < 3 {
			must.Do(t, s.Append(t.Context(), l.step([]byte("1"))))
		}
	}
	open.Wait()
	if reads.Load() < watches+2 {
		t.Errorf("%d reads are counted", reads.Load())
	}
}
