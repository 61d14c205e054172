package ledgertest

import (
	"context"
	"fmt"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// benchContract measures a store below the Ledger: the cost of the contract itself.
func benchContract[B Bencher[B]](b B, h storetest.Harness) {
	for _, c := range []struct {
		name string
		run  func(Stopwatch)
	}{
		{"append/one thread, 200 B", func(b Stopwatch) { benchAppend(b, h, 200) }},
		{"append/one thread, 1 KB", func(b Stopwatch) { benchAppend(b, h, 1024) }},
		{"append/64 goroutines, each its own thread, 200 B", func(b Stopwatch) { benchParallel(b, h) }},
		{"read/latest of 1,000", func(b Stopwatch) { benchLatest(b, h) }},
		{"read/one id of 1,000", func(b Stopwatch) { benchFind(b, h) }},
		{"list/1,000 headers of a thread", func(b Stopwatch) { benchList(b, h, posthouse.Query{Thread: "t1"}) }},
		{"list/1,000 headers across threads", func(b Stopwatch) { benchList(b, h, posthouse.Query{}) }},
		{"slot/put", func(b Stopwatch) { benchSlot(b, h) }},
	} {
		b.Run(c.name, func(b B) { c.run(b) })
	}
}

// benchStore opens a store with n checkpoints of 200 bytes in thread t1.
func benchStore(b Stopwatch, h storetest.Harness, n int) (posthouse.Store, *storetest.Log) {
	b.Helper()
	s := h.Open(b, b.TempDir())
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Errorf("Close: %v", err)
		}
	})
	l := storetest.NewBuilder().Log("t1")
	for _, batch := range batches(l, n, 200) {
		if err := s.Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	return s, l
}

// batches builds the next n batches, outside what is measured.
func batches(l *storetest.Log, n, size int) []*posthouse.Batch {
	next := make([]*posthouse.Batch, n)
	for i := range next {
		next[i] = l.Next(l.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning, Node: "node"}, string(storetest.Filler(size, fmt.Sprint(i)))))
		l.Took(next[i])
	}
	return next
}

func benchAppend(b Stopwatch, h storetest.Harness, size int) {
	s, l := benchStore(b, h, 0)
	var ahead []*posthouse.Batch
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if len(ahead) == 0 {
			b.StopTimer()
			ahead = batches(l, 1000, size)
			b.StartTimer()
		}
		if err := s.Append(b.Context(), ahead[0]); err != nil {
			b.Fatal(err)
		}
		ahead = ahead[1:]
	}
}

func benchParallel(b Stopwatch, h storetest.Harness) {
	s, _ := benchStore(b, h, 0)
	builder := storetest.NewBuilder()
	work := make(chan struct{})
	var writers sync.WaitGroup
	for i := range 64 {
		writers.Go(func() {
			l := builder.Log(fmt.Sprint("p", i))
			for range work {
				batch := batches(l, 1, 200)[0]
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

func benchLatest(b Stopwatch, h storetest.Harness) {
	s, l := benchStore(b, h, 1000)
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

func benchFind(b Stopwatch, h storetest.Harness) {
	s, l := benchStore(b, h, 1000)
	head, _ := l.Info.Branch("")
	for b.Loop() {
		if _, err := s.Find(b.Context(), head.Head); err != nil {
			b.Fatal(err)
		}
	}
}

func benchList(b Stopwatch, h storetest.Harness, q posthouse.Query) {
	s, _ := benchStore(b, h, 1000)
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

func benchSlot(b Stopwatch, h storetest.Harness) {
	s, _ := benchStore(b, h, 0)
	key, value := posthouse.SlotKey{Thread: "t1", Step: "s"}, storetest.Filler(200, "slot")
	for b.Loop() {
		if _, err := s.Slot(b.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: posthouse.AnyRevision}); err != nil {
			b.Fatal(err)
		}
	}
}
