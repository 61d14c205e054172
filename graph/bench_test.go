package graph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/store/memstore"
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

func loopApp(tb testing.TB, ledger *posthouse.Ledger, n int) *graph.App[small] {
	g := graph.New[small]("loop")
	g.Node("count", func(_ context.Context, s *small) error { s.Count++; return nil })
	g.Edge(graph.Start, "count")
	g.Route("count", func(s *small) string {
		if s.Count < n {
			return "count"
		}
		return graph.End
	}, "count", graph.End)
	app, err := g.Compile(ledger, &graph.CompileOptions{RecursionLimit: n + 1})
	if err != nil {
		tb.Fatal(err)
	}
	return app
}

var start = small{
	Request: "please refund order 1234, it arrived broken", Customer: "alice@example.com",
	Status: "the analyzer has not seen it yet", Note: "a note of some length that does not change", Total: 99.5,
}

// BenchmarkStep is one node of a 200-byte state on memory: one field changes.
func BenchmarkStep(b *testing.B) {
	const steps = 1000
	ledger, err := posthouse.Open(memstore.New(), nil)
	if err != nil {
		b.Fatal(err)
	}
	app := loopApp(b, ledger, steps)
	b.ReportAllocs()
	for i := 0; b.Loop(); i += steps {
		if i%steps == 0 {
			if _, err := app.Run(b.Context(), fmt.Sprintf("t%d", i), start); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/steps, "ns/step")
}
