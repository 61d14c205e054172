package servertest

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// B is what the package needs of a benchmark. *testing.B has it.
type B interface {
	storetest.TB
	Elapsed() time.Duration
	ReportMetric(n float64, unit string)
}

// State returns text of n bytes, the same each time.
func State(n int) string {
	rnd, s := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
	for i := range s {
		s[i] = "abcdefghijklmnopqrstuvwxyz ,.:"[rnd.IntN(30)]
	}
	return string(s)
}

// Batches returns the next n steps of a graph's thread, each with the state that state
// returns.
func Batches(b *storetest.Builder, thread string, n int, state func() string) []*posthouse.Batch {
	l, batches := b.Log(thread), make([]*posthouse.Batch, n)
	h := posthouse.Header{Status: posthouse.StatusRunning, Run: "run-" + thread, Graph: "bench", Node: "work", Next: []string{"work"}}
	for i := range batches {
		batches[i] = l.Next(l.Checkpoint(h, state()))
		l.Took(batches[i])
	}
	return batches
}

// Same returns a function that returns the same state each time, for [Batches].
func Same(state string) func() string { return func() string { return state } }

// AppendAll appends batches one after the other.
func AppendAll(b B, s posthouse.Store, batches []*posthouse.Batch) {
	b.Helper()
	for _, batch := range batches {
		if err := s.Append(b.Context(), batch); err != nil {
			b.Error(err)
			return
		}
	}
}

// Seconds returns how long something takes, in a loop of a benchmark.
func Seconds(b B, fn func()) float64 {
	start := b.Elapsed()
	fn()
	return (b.Elapsed() - start).Seconds()
}

// Together returns how many seconds n calls at once take.
func Together(b B, n int, fn func(i int)) float64 {
	return Seconds(b, func() {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { fn(i) })
		}
		wg.Wait()
	})
}

// Median returns the middle of values, which it sorts.
func Median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// Report reports how many times as fast as a baseline a store is, and its steps a second:
// the median of the rounds of a benchmark.
func Report(b B, ratios, steps []float64) {
	b.ReportMetric(Median(ratios), "x-baseline")
	b.ReportMetric(Median(steps), "steps/s")
}
