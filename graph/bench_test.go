package graph_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
)

// small is a state of about 200 bytes.
type small struct {
	Request  string
	Customer string
	Status   string
	Note     string
	Count    int
	Total    float64
	Done     bool
}

var start = small{
	Request: "please refund order 1234, it arrived broken", Customer: "alice@example.com",
	Status: "the analyzer has not seen it yet", Note: "a note of some length that does not change", Total: 99.5,
}

func loopApp(tb testing.TB, led *ledger.Ledger, n int) *graph.App[small] {
	g := graph.New[small]("loop")
	g.Node("count", func(_ context.Context, s *small) error { s.Count++; return nil })
	g.Edge(graph.Start, "count")
	g.Route("count", func(s *small) string {
		if s.Count < n {
			return "count"
		}
		return graph.End
	}, "count", graph.End)
	return compile(tb, g, led, &graph.CompileOptions{RecursionLimit: n + 1})
}

func perStep(b *testing.B, steps int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps), "ns/step")
}

// BenchmarkStep is 1,000 nodes of a 200-byte state on memory; one field changes.
func BenchmarkStep(b *testing.B) {
	app := loopApp(b, newLedger(b), 1000)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := app.Run(b.Context(), fmt.Sprintf("t%d", n), start); err != nil {
			b.Fatal(err)
		}
	}
	perStep(b, 1000)
}

// talk is a state that should cost little: messages, a long text, and small
// fields, one of them changing.
type talk struct {
	Messages []message `posthouse:"append"`
	Manual   string
	Mood     string
	Fields   [10]string
	Turn     int
}

func talking(tb testing.TB, steps int, turn func(s *talk)) *graph.App[talk] {
	g := graph.New[talk]("talk")
	g.Node("turn", func(_ context.Context, s *talk) error { s.Turn++; turn(s); return nil })
	g.Edge(graph.Start, "turn")
	g.Route("turn", func(s *talk) string {
		if s.Turn%steps == 0 {
			return graph.End
		}
		return "turn"
	})
	return compile(tb, g, newLedger(tb), &graph.CompileOptions{RecursionLimit: steps + 1})
}

// BenchmarkChat runs 500 nodes; each appends a message of 1 KB.
func BenchmarkChat(b *testing.B) {
	text := strings.Repeat("word ", 200)
	app := talking(b, 500, func(s *talk) { s.Messages = append(s.Messages, message{"agent", text}) })
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := app.Run(b.Context(), fmt.Sprintf("t%d", n), talk{}); err != nil {
			b.Fatal(err)
		}
	}
	perStep(b, 500)
}

// BenchmarkState is one node that changes 100 bytes of a state of 5 or 500 KB.
func BenchmarkState(b *testing.B) {
	for _, kb := range []int{5, 500} {
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			in := talk{Manual: strings.Repeat("manual", kb*7)}
			for range kb {
				in.Messages = append(in.Messages, message{"user", strings.Repeat("word ", 190)})
			}
			app := talking(b, 1000, func(s *talk) { s.Mood = fmt.Sprintf("%0100d", s.Turn) })
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if _, err := app.Run(b.Context(), fmt.Sprintf("t%d", n), in); err != nil {
					b.Fatal(err)
				}
			}
			perStep(b, 1000)
		})
	}
}

type bareNode interface{ run(m map[string]int) }

type bareCount struct{ n int }

func (c *bareCount) run(m map[string]int) { c.n++; m["count"] = c.n }

// BenchmarkBare is what a node is measured by: a function call through an
// interface and one map write.
func BenchmarkBare(b *testing.B) {
	var c bareNode = &bareCount{}
	m := map[string]int{}
	b.ReportAllocs()
	for b.Loop() {
		c.run(m)
	}
}

// BenchmarkUnkept runs 1,000 nodes without checkpoints.
func BenchmarkUnkept(b *testing.B) {
	app := loopApp(b, newLedger(b), 1000)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := app.Run(b.Context(), fmt.Sprintf("t%d", n), start, graph.RunOptions{Durability: graph.Exit}); err != nil {
			b.Fatal(err)
		}
	}
	perStep(b, 1000)
}

// A node that makes no checkpoint allocates its execution and what it changed.
func TestUnkeptNodesAllocateTwice(t *testing.T) {
	const nodes = 1000
	app := loopApp(t, newLedger(t), nodes)
	run := 0
	n := testing.AllocsPerRun(2, func() {
		run++
		if _, err := app.Run(t.Context(), fmt.Sprintf("t%d", run), start, graph.RunOptions{Durability: graph.Exit}); err != nil {
			t.Fatal(err)
		}
	})
	if n > 2.5*nodes {
		t.Errorf("%v allocations for %d nodes", n, nodes)
	}
}

// BenchmarkFanOut sends n inputs to a task.
func BenchmarkFanOut(b *testing.B) {
	type state struct {
		N   int
		Sum int   `posthouse:"sum"`
		All []int `posthouse:"append"`
	}
	g := graph.New[state]("fan")
	most := uint64(0) // of the heap, seen from within
	graph.Task(g, "add", func(_ context.Context, in int, out *state) error {
		out.Sum, out.All = in, []int{in}
		if in == 900 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
		return nil
	})
	g.Map(graph.Start, func(s *state) []graph.Send {
		out := make([]graph.Send, s.N)
		for i := range out {
			out[i] = graph.Send{Node: "add", Input: i}
		}
		return out
	}, "add")
	g.Edge("add", graph.End)
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			app := compile(b, g, newLedger(b), nil)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := app.Run(b.Context(), fmt.Sprintf("t%d", i), state{N: n}); err != nil {
					b.Fatal(err)
				}
			}
			perStep(b, n)
			b.ReportMetric(float64(most)/float64(n), "heap-B/send")
		})
	}
}
