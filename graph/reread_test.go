package graph_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/memstore"
)

type line3 struct {
	N     int
	note  string
	Cache string   `json:"-"`
	Tags  []string `json:",omitempty"`
}

// A delicate state has values that JSON does not give back as they were.
type delicate struct {
	Due   time.Time
	Times map[string]time.Time
	Delta float64
	Pair  [2]float32
	Line  line3
	Lines []line3     `posthouse:"append"`
	Dates []time.Time `posthouse:"append"`
	Ptr   *line3
	Any   any
	N     int
}

func (s *delicate) show() string {
	ptr := ""
	if s.Ptr != nil {
		ptr = fmt.Sprintf("%+v", *s.Ptr)
	}
	times := ""
	for _, t := range append([]time.Time{s.Due, s.Times["a"]}, s.Dates...) {
		times += t.Format(time.RFC1123) + " " + t.AddDate(0, 0, 1).UTC().Format(time.RFC3339) + " "
	}
	return fmt.Sprintf("%s|%.2f %v|%+v %v|%+v|%s|%T %v", times, s.Delta, 1/s.Pair[1], s.Line, s.Line.Tags == nil, s.Lines, ptr, s.Any, s.Any)
}

// TestNodesSeeWhatIsStored compares what the next node sees with what a new process reads:
// alone, beside another node, without checkpoints between, and with equal bytes after an edit.
func TestNodesSeeWhatIsStored(t *testing.T) {
	ny, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	due := time.Date(2026, 3, 7, 9, 0, 0, 0, ny) // the day before the clocks go forward
	for name, set := range map[string]func(s *delicate){
		"zone of a time":         func(s *delicate) { s.Due = due },
		"zone in a map":          func(s *delicate) { s.Times = map[string]time.Time{"a": due} },
		"zone in a list":         func(s *delicate) { s.Dates = append(s.Dates, due) },
		"monotonic clock":        func(s *delicate) { s.Due = time.Now() },
		"minus zero":             func(s *delicate) { s.Delta = math.Round(-0.3) },
		"minus zero in an array": func(s *delicate) { s.Pair[1] = float32(math.Copysign(0, -1)) },
		"unexported":             func(s *delicate) { s.Line = line3{N: 1, note: "gift"} },
		"left out":               func(s *delicate) { s.Line.Cache = "x" },
		"empty and left out":     func(s *delicate) { s.Line.Tags = []string{} },
		"in an element":          func(s *delicate) { s.Lines = append(s.Lines, line3{1, "gift", "x", nil}) },
		"behind a pointer":       func(s *delicate) { s.Ptr = &line3{1, "gift", "x", []string{}} },
		"in an interface":        func(s *delicate) { s.Any = line3{1, "gift", "x", nil} },
	} {
		for _, way := range []string{"alone", "beside", "skipped", "again"} {
			t.Run(name+" "+way, func(t *testing.T) {
				store := memstore.New()
				var seen []string
				g := graph.New[delicate]("g")
				o := graph.NodeOptions{}
				if way == "skipped" {
					o.Snapshots = graph.SnapshotNone
				}
				g.Node("make", func(_ context.Context, s *delicate) error { set(s); return nil }, o)
				g.Edge(graph.Start, "make")
				from := "make"
				switch way {
				case "beside":
					g.Node("other", func(_ context.Context, s *delicate) error { s.N++; return nil })
					g.Edge(graph.Start, "other")
					g.Edge("other", "ask")
				case "again": // the bytes stay the same
					g.Node("twice", func(_ context.Context, s *delicate) error {
						lines, dates := s.Lines, s.Dates
						set(s)
						s.Lines, s.Dates = lines, dates
						return nil
					})
					g.Edge("make", "twice")
					from = "twice"
				}
				g.Node("ask", func(ctx context.Context, s *delicate) error {
					seen = append(seen, s.show())
					_, err := ask(ctx, "Is "+s.show()[:20]+" right?")
					return err
				})
				g.Edge(from, "ask")
				g.Edge("ask", graph.End)
				l := open(t, store, nil)
				out := must.Get(compile(t, g, l, &graph.CompileOptions{}).Run(t.Context(), "t", delicate{}))(t)
				decide(t, l, out.Waiting[0].ID, posthouse.Approve)
				l.Close()
				a := compile(t, g, open(t, store, nil), &graph.CompileOptions{})
				out = must.Get(a.Resume(t.Context(), "t"))(t)
				if out.Status != posthouse.StatusDone || len(seen) != 2 || seen[0] != seen[1] {
					t.Fatalf("status %s, a node saw\n%s", out.Status, seen)
				}
			})
		}
	}
}
