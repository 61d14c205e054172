package redisstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/internal/servertest"
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

// BenchmarkAppend appends steps of 1 KB to one thread, in rounds beside a pipeline that
// writes as much.
func BenchmarkAppend(b *testing.B) {
	const perRound = 300
	s, c, builder := open(b, redisstore.Options{}), connect(b, redistest.URL(b)), storetest.NewBuilder()
	state := servertest.State(1024)
	var ratios, ours []float64
	for round := 0; b.Loop(); round++ {
		batches := servertest.Batches(builder, fmt.Sprint("thread-", round), perRound, servertest.Same(state))
		us := servertest.Seconds(b, func() { servertest.AppendAll(b, s, batches) })
		them := servertest.Seconds(b, func() {
			for i := range batches {
				baseline(b, c, round*perRound+i, state)
			}
		})
		ratios, ours = append(ratios, them/us), append(ours, perRound/us)
	}
	servertest.Report(b, ratios, ours)
}

// BenchmarkAppendMany appends 10 steps to each of 1,000 threads at once.
func BenchmarkAppendMany(b *testing.B) {
	const threads, steps = 1000, 10
	s, c, builder := open(b, redisstore.Options{}), connect(b, redistest.URL(b)), storetest.NewBuilder()
	state := servertest.State(200)
	var ratios, ours []float64
	for round := 0; b.Loop(); round++ {
		batches := make([][]*posthouse.Batch, threads)
		for t := range batches {
			batches[t] = servertest.Batches(builder, fmt.Sprintf("thread-%d-%d", round, t), steps, servertest.Same(state))
		}
		us := servertest.Together(b, threads, func(t int) { servertest.AppendAll(b, s, batches[t]) })
		them := servertest.Together(b, threads, func(t int) {
			for i := range steps {
				baseline(b, c, (round*threads+t)*steps+i, state)
			}
		})
		ratios, ours = append(ratios, them/us), append(ours, threads*steps/us)
	}
	servertest.Report(b, ratios, ours)
}
