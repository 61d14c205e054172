package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
)

// Bench measures a store below the Ledger: the cost of the contract itself.
// Figures of different stores compare; for ratios against a raw driver and for
// whole runs see the command posthouse bench.
func Bench(b *testing.B, h Harness) {
	b.Run("append/one thread, 200 B", func(b *testing.B) { h.benchAppend(b, 200) })
	b.Run("append/one thread, 1 KB", func(b *testing.B) { h.benchAppend(b, 1024) })
	b.Run("append/64 goroutines, each its own thread, 200 B", h.benchParallel)
	b.Run("read/latest of 1,000", h.benchLatest)
	b.Run("read/one id of 1,000", h.benchFind)
	b.Run("list/1,000 headers of a thread", func(b *testing.B) { h.benchList(b, posthouse.Query{Thread: "t1"}) })
	b.Run("list/1,000 headers across threads", func(b *testing.B) { h.benchList(b, posthouse.Query{}) })
	b.Run("slot/put", h.benchSlot)
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("inbox/a page of 50 of %d", n), func(b *testing.B) { h.benchInbox(b, n) })
	}
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("decide/one of %d gates of a checkpoint", n), func(b *testing.B) { h.benchDecide(b, n) })
	}
}

// benchStore opens a store that holds n checkpoints of 200 bytes in thread t1.
func (h Harness) benchStore(b *testing.B, n int) (posthouse.Store, *Log) {
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
		batches[i] = l.Next(l.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning, Node: "node"}, string(filler(size, fmt.Sprint(i)))))
		l.Took(batches[i])
	}
	return batches
}

func (h Harness) benchAppend(b *testing.B, size int) {
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

func (h Harness) benchParallel(b *testing.B) {
	s, _ := h.benchStore(b, 0)
	builder := NewBuilder()
	var threads atomic.Int64
	b.SetBytes(200)
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		l := builder.Log(fmt.Sprint("p", threads.Add(1)))
		for pb.Next() {
			batch := l.ahead(1, 200)[0]
			if err := s.Append(context.Background(), batch); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func (h Harness) benchLatest(b *testing.B) {
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

func (h Harness) benchFind(b *testing.B) {
	s, l := h.benchStore(b, 1000)
	head, _ := l.Info.Branch("")
	for b.Loop() {
		if _, err := s.Find(b.Context(), head.Head); err != nil {
			b.Fatal(err)
		}
	}
}

func (h Harness) benchList(b *testing.B, q posthouse.Query) {
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

func (h Harness) benchSlot(b *testing.B) {
	s, _ := h.benchStore(b, 0)
	key, value := posthouse.SlotKey{Thread: "t1", Step: "s"}, filler(200, "slot")
	for b.Loop() {
		if _, err := s.Slot(b.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: posthouse.AnyRevision}); err != nil {
			b.Fatal(err)
		}
	}
}
