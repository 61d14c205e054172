package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A world has a part of every kind.
type world struct {
	Pos   int // how many nodes ran
	Text  string
	Float float64
	Flag  bool
	When  time.Time
	Array [3]string
	In    struct {
		X string
		Y []int
	}
	Map  map[string][]int
	Ptr  *item
	List []string
	Any  any
	Flat []item     `posthouse:"append"`
	Deep []deepItem `posthouse:"append"`
	Log  graph.Log[string]
}

// edits are what a node may do to a world, by number.
var edits = []func(s *world, n int){
	func(s *world, n int) { s.Text = strings.Repeat("é", n%5) },
	func(s *world, n int) { s.Text += "x" },
	func(s *world, n int) { s.Float = float64(n) / 3 },
	func(s *world, n int) { s.Flag = n%2 == 0 },
	func(s *world, n int) { s.When = time.Unix(int64(n), 0).UTC() },
	func(s *world, n int) { s.Array[n%3] = fmt.Sprint(n) },
	func(s *world, n int) { s.In.X = fmt.Sprint(n) },
	func(s *world, n int) { s.In.Y = append(s.In.Y, n) },
	func(s *world, n int) { s.In.Y = s.In.Y[:len(s.In.Y)/2] },
	func(s *world, n int) {
		if s.Map == nil {
			s.Map = map[string][]int{}
		}
		s.Map[fmt.Sprint(n%4)] = append(s.Map[fmt.Sprint(n%4)], n)
	},
	func(s *world, n int) { delete(s.Map, fmt.Sprint(n%4)) },
	func(s *world, n int) { s.Map = nil },
	func(s *world, n int) { s.Ptr = &item{N: n} },
	func(s *world, n int) {
		if s.Ptr != nil {
			s.Ptr.N++
		}
	},
	func(s *world, n int) { s.Ptr = nil },
	func(s *world, n int) { s.List = append(s.List, fmt.Sprint(n)) },
	func(s *world, n int) {
		if len(s.List) > 0 {
			s.List[n%len(s.List)] = "edited"
		}
	},
	func(s *world, n int) { s.Any = []any{float64(n), "x", nil, map[string]any{"n": float64(n)}} },
	func(s *world, n int) { s.Flat = append(s.Flat, item{fmt.Sprint(n), n}) },
	func(s *world, n int) { s.Flat = append(s.Flat, make([]item, n%4)...) },
	func(s *world, n int) { s.Flat = append([]item(nil), s.Flat...) },
	func(s *world, n int) {
		s.Deep = append(s.Deep, deepItem{Tags: map[string]int{"n": n}, Ptr: &item{N: n}})
	},
	func(s *world, n int) { s.Log.Append(fmt.Sprint(n), strings.Repeat("long ", n%50)) },
}

type edit struct{ Op, N int }

// A turn is what the n-th node does, and where it leads.
type turn struct {
	Edits []edit
	Next  int
	Fails bool // the first time
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const worldNodes = 4

// scripted plays turns and notes the state each of them left.
func scripted(turns []turn, left map[int]string, stops []int) *graph.Graph[world] {
	failed := map[int]bool{}
	g := graph.New[world]("scripted")
	for i := range worldNodes {
		g.Node(fmt.Sprintf("n%d", i), func(_ context.Context, s *world) error {
			turn := turns[s.Pos]
			for _, e := range turn.Edits {
				edits[e.Op](s, e.N)
			}
			s.Pos++
			if turn.Fails && !failed[s.Pos] {
				failed[s.Pos] = true
				return errBoom
			}
			left[s.Pos] = encode(s)
			return nil
		}, graph.NodeOptions{InterruptBefore: stops[i] == 1, InterruptAfter: stops[i] == 2})
		g.Route(fmt.Sprintf("n%d", i), func(s *world) string {
			if s.Pos == len(turns) {
				return graph.End
			}
			return fmt.Sprintf("n%d", turns[s.Pos].Next)
		})
	}
	g.Edge(graph.Start, "n0")
	return g
}

// Whatever nodes do to a state, with failures, interrupts and restarts in
// between: a fresh App reads at each checkpoint what the node left there.
func TestAnyEditsAreRebuilt(t *testing.T) {
	genEdit := rapid.Custom(func(t *rapid.T) edit {
		return edit{rapid.IntRange(0, len(edits)-1).Draw(t, "op"), rapid.IntRange(0, 100).Draw(t, "n")}
	})
	genTurn := rapid.Custom(func(t *rapid.T) turn {
		return turn{
			rapid.SliceOfN(genEdit, 0, 5).Draw(t, "edits"), rapid.IntRange(0, worldNodes-1).Draw(t, "next"),
			rapid.IntRange(0, 9).Draw(t, "fails") == 0,
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		turns := rapid.SliceOfN(genTurn, 1, 40).Draw(rt, "turns")
		stops := rapid.SliceOfN(rapid.IntRange(0, 5), worldNodes, worldNodes).Draw(rt, "stops")
		check := rapid.Bool().Draw(rt, "check")
		store, left := memstore.New(), map[int]string{}
		g := scripted(turns, left, stops)
		fresh := func() *graph.App[world] {
			l, err := ledger.Open(store, nil)
			if err != nil {
				rt.Fatal(err)
			}
			a, err := g.Compile(l, &graph.CompileOptions{Check: check})
			if err != nil {
				rt.Fatal(err)
			}
			return a
		}
		out, err := fresh().Run(t.Context(), "t", world{})
		for err != nil || out.Status != posthouse.StatusDone {
			if err != nil && !errors.Is(err, errBoom) {
				rt.Fatal(err)
			}
			out, err = fresh().Resume(t.Context(), "t")
		}
		if encode(out.State) != left[len(turns)] {
			rt.Fatalf("returned\n%s, left\n%s", encode(out.State), left[len(turns)])
		}
		checkHistory(rt, t, fresh(), left)

		// An update of any checkpoint makes a child and leaves the rest alone.
		all := history(t, fresh(), "t")
		past := all[rapid.IntRange(0, len(all)-1).Draw(rt, "past")]
		e := genEdit.Draw(rt, "edit")
		want := past.State
		s, err := fresh().Update(t.Context(), "t", func(s *world) { edits[e.Op](s, e.N) }, graph.UpdateOptions{Checkpoint: past.ID})
		if err != nil {
			rt.Fatal(err)
		}
		edits[e.Op](&want, e.N)
		if encode(s.State) != encode(want) {
			rt.Fatalf("updated\n%s, want\n%s", encode(s.State), encode(want))
		}
		checkHistory(rt, t, fresh(), left)
	})
}

func checkHistory(rt *rapid.T, t *testing.T, a *graph.App[world], left map[int]string) {
	for _, s := range history(t, a, "t") {
		if s.Kind == posthouse.KindNode && encode(s.State) != left[s.State.Pos] {
			rt.Fatalf("checkpoint %s holds\n%s, the node left\n%s", s.ID, encode(s.State), left[s.State.Pos])
		}
	}
}
