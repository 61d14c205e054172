package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/posthouse/posthouse"
)

// A Stopwatch is a TB that measures what happens in its loop.
type Stopwatch interface {
	TB
	Loop() bool
	StopTimer()
	StartTimer()
	SetBytes(n int64)
	ReportAllocs()
}

// A Bencher is a Stopwatch that has others of its own kind below, as *testing.B
// has.
type Bencher[B any] interface {
	Stopwatch
	Run(name string, f func(B)) bool
}

// Bench measures a store below the Ledger: the cost of the contract itself.
// Figures of different stores compare; for ratios against a raw driver and for
// whole runs see the command posthouse bench.
func Bench[B Bencher[B]](b B, h Harness) {
	for _, c := range []struct {
		name string
		run  func(Stopwatch)
	}{
		{"append/one thread, 200 B", func(b Stopwatch) { h.benchAppend(b, 200) }},
		{"append/one thread, 1 KB", func(b Stopwatch) { h.benchAppend(b, 1024) }},
		{"append/64 goroutines, each its own thread, 200 B", h.benchParallel},
		{"read/latest of 1,000", h.benchLatest},
		{"read/one id of 1,000", h.benchFind},
		{"list/1,000 headers of a thread", func(b Stopwatch) { h.benchList(b, posthouse.Query{Thread: "t1"}) }},
		{"list/1,000 headers across threads", func(b Stopwatch) { h.benchList(b, posthouse.Query{}) }},
		{"slot/put", h.benchSlot},
	} {
		b.Run(c.name, func(b B) { c.run(b) })
	}
}

// benchStore opens a store that holds n checkpoints of 200 bytes in thread t1.
func (h Harness) benchStore(b Stopwatch, n int) (posthouse.Store, *Log) {
	b.Helper()
	s := h.Open(b, b.TempDir())
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Errorf("Close: %v", err)
		}
	})
	l := NewBuilder().Log("t1")
	for _, batch := range l.ahead(n, 200) {
		if err := s.Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	return s, l
}

// ahead builds the next n batches, so that building them is not measured.
func (l *Log) ahead(n, size int) []*posthouse.Batch {
	batches := make([]*posthouse.Batch, n)
	for i := range batches {
		batches[i] = l.Next(l.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning, Node: "node"}, string(Filler(size, fmt.Sprint(i)))))
		l.Took(batches[i])
	}
	return batches
}

func (h Harness) benchAppend(b Stopwatch, size int) {
	s, l := h.benchStore(b, 0)
	var ahead []*posthouse.Batch
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if len(ahead) == 0 {
			b.StopTimer()
			ahead = l.ahead(1000, size)
			b.StartTimer()
		}
		if err := s.Append(b.Context(), ahead[0]); err != nil {
			b.Fatal(err)
		}
		ahead = ahead[1:]
	}
}

func (h Harness) benchParallel(b Stopwatch) {
	s, _ := h.benchStore(b, 0)
	builder := NewBuilder()
	work := make(chan struct{})
	var writers sync.WaitGroup
	for i := range 64 {
		writers.Go(func() {
			l := builder.Log(fmt.Sprint("p", i))
			for range work {
				batch := l.ahead(1, 200)[0]
				if err := s.Append(context.Background(), batch); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.SetBytes(200)
	for b.Loop() {
		work <- struct{}{}
	}
	close(work)
	writers.Wait()
}

func (h Harness) benchLatest(b Stopwatch) {
	s, l := h.benchStore(b, 1000)
	for b.Loop() {
		var head posthouse.BranchHead
		for info, err := range s.Threads(b.Context(), posthouse.ThreadQuery{Thread: "t1"}) {
			if err != nil {
				b.Fatal(err)
			}
			head, _ = info.Branch("")
		}
		n := 0
		for _, err := range s.Read(b.Context(), "t1", posthouse.Range{Seqs: []uint64{head.Seq}}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 1 || head.Seq != l.Info.Tail.Seq {
			b.Fatalf("the head is %v", head)
		}
	}
}

func (h Harness) benchFind(b Stopwatch) {
	s, l := h.benchStore(b, 1000)
	head, _ := l.Info.Branch("")
	for b.Loop() {
		if _, err := s.Find(b.Context(), head.Head); err != nil {
			b.Fatal(err)
		}
	}
}

func (h Harness) benchList(b Stopwatch, q posthouse.Query) {
	s, _ := h.benchStore(b, 1000)
	for b.Loop() {
		n := 0
		for _, err := range s.List(b.Context(), q) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 1000 {
			b.Fatalf("listed %d", n)
		}
	}
}

func (h Harness) benchSlot(b Stopwatch) {
	s, _ := h.benchStore(b, 0)
	key, value := posthouse.SlotKey{Thread: "t1", Step: "s"}, Filler(200, "slot")
	for b.Loop() {
		if _, err := s.Slot(b.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: posthouse.AnyRevision}); err != nil {
			b.Fatal(err)
		}
	}
}
