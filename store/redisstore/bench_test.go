package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/redistest"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// baseline writes what an append writes, as values of the same sizes, in one pipeline
// without a script or a comparison: an entry, its body, its place, a summary, and members
// of the lists.
func baseline(b *testing.B, c rueidis.Client, n int, body string) {
	seq, header := fmt.Sprint(n), strings.Repeat("h", 300)
	set := func(words ...string) rueidis.Completed { return c.B().Arbitrary(words...).Build() }
	commands := []rueidis.Completed{
		set("HSET", "base:e", seq, header), set("HSET", "base:b", seq, body), set("HSET", "base:i", "checkpoint-"+seq, header[:80]),
		set("SET", "base:t", header[:250]), set("INCR", "base:commit"), set("ZADD", "base:commits", seq, seq),
	}
	for _, list := range []string{"s", "o", "c", "run", "graph", "node", "coordination"} {
		commands = append(commands, set("ZADD", "base:"+list, "0", "0123456789abcdef"+seq))
	}
	for _, r := range c.DoMulti(b.Context(), commands...) {
		if err := r.Error(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchState(n int) string {
	rnd, s := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
	for i := range s {
		s[i] = "abcdefghijklmnopqrstuvwxyz ,.:"[rnd.IntN(30)]
	}
	return string(s)
}

// BenchmarkAppend appends steps of 1 KB to one thread, in rounds beside a pipeline that
// writes as much.
func BenchmarkAppend(b *testing.B) {
	const perRound = 300
	s, c, builder := open(b, redisstore.Options{}), connect(b, redistest.URL(b)), storetest.NewBuilder()
	state := benchState(1024)
	var ratios, ours []float64
	for round := 0; b.Loop(); round++ {
		batches := benchBatches(builder, fmt.Sprint("thread-", round), perRound, state)
		us := took(func() {
			for _, batch := range batches {
				if err := s.Append(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
		})
		them := took(func() {
			for i := range batches {
				baseline(b, c, round*perRound+i, state)
			}
		})
		ratios, ours = append(ratios, them/us), append(ours, perRound/us)
	}
	report(b, ratios, ours)
}

// BenchmarkAppendMany appends 10 steps to each of 1,000 threads at once.
func BenchmarkAppendMany(b *testing.B) {
	const threads, steps = 1000, 10
	s, c, builder := open(b, redisstore.Options{}), connect(b, redistest.URL(b)), storetest.NewBuilder()
	state := benchState(200)
	var ratios, ours []float64
	for round := 0; b.Loop(); round++ {
		batches := make([][]*posthouse.Batch, threads)
		for t := range batches {
			batches[t] = benchBatches(builder, fmt.Sprintf("thread-%d-%d", round, t), steps, state)
		}
		us := together(threads, func(t int) {
			for _, batch := range batches[t] {
				if err := s.Append(b.Context(), batch); err != nil {
					b.Error(err)
				}
			}
		})
		them := together(threads, func(t int) {
			for i := range steps {
				baseline(b, c, (round*threads+t)*steps+i, state)
			}
		})
		ratios, ours = append(ratios, them/us), append(ours, threads*steps/us)
	}
	report(b, ratios, ours)
}

func benchBatches(builder *storetest.Builder, thread string, n int, state string) []*posthouse.Batch {
	l, batches := builder.Log(thread), make([]*posthouse.Batch, n)
	h := posthouse.Header{Status: posthouse.StatusRunning, Run: "run-" + thread, Graph: "bench", Node: "work", Next: []string{"work"}}
	for i := range batches {
		batches[i] = l.Next(l.Checkpoint(h, state))
		l.Took(batches[i])
	}
	return batches
}

// took returns the seconds that something takes.
func took(fn func()) float64 {
	start := time.Now()
	fn()
	return time.Since(start).Seconds()
}

func together(n int, fn func(int)) float64 {
	return took(func() {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { fn(i) })
		}
		wg.Wait()
	})
}

func report(b *testing.B, ratios, ours []float64) {
	slices.Sort(ratios)
	slices.Sort(ours)
	b.ReportMetric(ratios[len(ratios)/2], "x-baseline")
	b.ReportMetric(ours[len(ours)/2], "steps/s")
}
