package ledgertest

import (
	"fmt"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/storetest"
)

// A Stopwatch is a TB that measures what happens in its loop.
type Stopwatch interface {
	storetest.TB
	Loop() bool
	StopTimer()
	StartTimer()
	SetBytes(n int64)
	ReportAllocs()
}

// A Bencher is a Stopwatch with sub-benchmarks of its own type, such as *testing.B.
type Bencher[B any] interface {
	Stopwatch
	Run(name string, f func(B)) bool
}

// Bench measures a store below the Ledger, and operations of the Ledger that must not cost
// more as the store grows. Its figures compare stores. The command posthouse bench measures
// ratios against a raw driver, and whole runs.
func Bench[B Bencher[B]](b B, h storetest.Harness, o *Options) {
	if o == nil {
		o = &Options{}
	}
	benchContract(b, h)
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("among=%d", n), func(b B) {
			l := benchLedger(b, h, o)
			fillInbox(b, l, n)
			fillHistory(b, l, n)
			for _, r := range pagesOf(b, l, n) {
				b.Run(r.name, r.run)
			}
		})
	}
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("decide/one of %d gates of a checkpoint", n), func(b B) { benchDecide(b, benchLedger(b, h, o), n) })
	}
}

// benchLedger opens a Ledger over an empty store.
func benchLedger(b Stopwatch, h storetest.Harness, o *Options) *ledger.Ledger {
	b.Helper()
	s := h.Open(b, b.TempDir())
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Errorf("Close: %v", err)
		}
	})
	l, err := ledger.Open(s, &ledger.Options{Cipher: o.Cipher})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func waits(thread string, gates ...posthouse.Gate) *ledger.Draft {
	return &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"ask"},
		Parts: []posthouse.Part{{Name: posthouse.OpaquePart, Codec: "raw", Data: []byte("x")}},
	}, Gates: gates}
}

// fillInbox makes n threads wait. One in twenty waits for bob, the others for alice. One in
// twenty has the label that is listed.
func fillInbox(b Stopwatch, l *ledger.Ledger, n int) {
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := g; i < n; i += 64 {
				gate := posthouse.Gate{Name: "ok?", Text: "Pay the order?", Assignees: []string{"alice"}}
				if i%20 == 0 {
					gate.Assignees = []string{"bob"}
				}
				d := waits(fmt.Sprint("t", i), gate)
				if i%20 == 0 {
					d.Checkpoint.Labels = map[string]string{"customer": "7"}
				}
				if _, err := l.Commit(b.Context(), d); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// benchDecide decides one of n gates of a checkpoint.
func benchDecide(b Stopwatch, l *ledger.Ledger, n int) {
	var open []posthouse.ID
	round := 0
	for b.Loop() {
		if len(open) == 0 {
			b.StopTimer()
			for range max(1, 1000/n) {
				gates := make([]posthouse.Gate, n)
				for i := range gates {
					gates[i] = posthouse.Gate{Name: fmt.Sprint("ok", i), Text: "Pay the order?", Assignees: []string{"alice"}}
				}
				round++
				done, err := l.Commit(b.Context(), waits(fmt.Sprint("t", round), gates...))
				if err != nil {
					b.Fatal(err)
				}
				for _, g := range done.Gates {
					open = append(open, g.ID)
				}
			}
			b.StartTimer()
		}
		if _, err := l.Decide(b.Context(), open[0], posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
			b.Fatal(err)
		}
		open = open[1:]
	}
}
