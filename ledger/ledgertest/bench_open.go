package ledgertest

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/storetest"
)

// A Metering is a Stopwatch that takes figures of its own, such as *testing.B.
type Metering interface {
	Stopwatch
	ReportMetric(n float64, unit string)
}

// BenchOpen measures the opening of a store of n checkpoints, for each n, and what the
// process keeps in memory for it, in bytes a checkpoint. Closing is not measured.
func BenchOpen[B interface {
	Bencher[B]
	Metering
}](b B, h storetest.Harness, n ...int) {
	for _, n := range n {
		b.Run(fmt.Sprintf("checkpoints=%d", n), func(b B) {
			dir := b.TempDir()
			s := h.Open(b, dir)
			fillThreads(b, s, n)
			shut(b, s)
			before := heap()
			for b.Loop() {
				s = h.Open(b, dir)
				b.StopTimer()
				b.ReportMetric((heap()-before)/float64(n), "B/checkpoint")
				shut(b, s)
				b.StartTimer()
			}
		})
	}
}

// fillThreads writes n checkpoints of 200 bytes into a thread for each hundred.
func fillThreads(b Stopwatch, s posthouse.Store, n int) {
	b.Helper()
	l, err := ledger.Open(s, nil)
	if err != nil {
		b.Fatal(err)
	}
	const each, writers = 100, 64
	data := storetest.Filler(200, "open")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w * each; i < n; i += writers * each {
				for range min(each, n-i) {
					d := &ledger.Draft{Thread: fmt.Sprint("t", i/each), Checkpoint: &posthouse.Change{
						Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Node: "work", Next: []string{"work"},
						Parts: []posthouse.Part{{Name: posthouse.OpaquePart, Codec: "raw", Data: data}},
					}}
					if _, err := l.Commit(b.Context(), d); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}

func shut(b Stopwatch, s posthouse.Store) {
	if err := s.Close(); err != nil {
		b.Errorf("Close: %v", err)
	}
}

// heap returns the bytes in use, after a collection.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse)
}
