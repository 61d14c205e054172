package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/memstore"
)

// A ruled state has a part of each rule.
type ruled struct {
	Max     int            `posthouse:"max"`
	Min     int            `posthouse:"min"`
	Sum     int64          `posthouse:"sum"`
	Mean    graph.Mean     // avg
	First   string         `posthouse:"first"`
	Last    string         `posthouse:"last"`
	Longest string         `posthouse:"longest"`
	Set     []int          `posthouse:"set"`
	Keys    map[string]int `posthouse:"merge"`
	Log     []string       `posthouse:"append"`
	Score   int            // by a function: each write is added to the base
	Title   string         // replace
}

func addScores(base int, writes []int) (int, error) {
	for _, w := range writes {
		base += w
	}
	return base, nil
}

// A ruledWrite is a node's change of a field. It does not depend on the field's
// value, so the result of several does not depend on their order.
type ruledWrite struct {
	field int
	n     int
	over  bool // it overwrites the field
}

const (
	writeMax = iota
	writeMin
	writeSum
	writeMean
	writeFirst
	writeLast
	writeLongest
	writeSet
	writeKeys
	writeLog
	writeScore
	writeTitle
	ruledFields
)

// text is a text of some length that no other number has.
func text(n int) string { return fmt.Sprintf("%0*d", 8+n%5, n) }

// apply does the write as a node does.
func (w ruledWrite) apply(ctx context.Context, s *ruled) error {
	if w.over {
		return w.overwrite(ctx, s)
	}
	switch w.field {
	case writeMax:
		s.Max = w.n
	case writeMin:
		s.Min = w.n
	case writeSum:
		s.Sum += int64(w.n)
	case writeMean:
		s.Mean.Add(float64(w.n))
	case writeFirst:
		s.First = text(w.n)
	case writeLast:
		s.Last = text(w.n)
	case writeLongest:
		s.Longest = text(w.n)
	case writeSet:
		s.Set = []int{w.n % 7, w.n}
	case writeKeys:
		if s.Keys == nil {
			s.Keys = map[string]int{}
		}
		s.Keys[text(w.n)] = w.n
		delete(s.Keys, "begin")
	case writeLog:
		s.Log = append(s.Log, text(w.n))
	case writeScore:
		s.Score = w.n
	case writeTitle:
		s.Title = text(w.n)
	}
	return nil
}

func (w ruledWrite) overwrite(ctx context.Context, s *ruled) error {
	switch w.field {
	case writeMax:
		return graph.Overwrite(ctx, &s.Max, w.n)
	case writeMin:
		return graph.Overwrite(ctx, &s.Min, w.n)
	case writeSum:
		return graph.Overwrite(ctx, &s.Sum, int64(w.n))
	case writeMean:
		return graph.Overwrite(ctx, &s.Mean, graph.Mean{Sum: float64(w.n), Count: 1})
	case writeFirst:
		return graph.Overwrite(ctx, &s.First, text(w.n))
	case writeLast:
		return graph.Overwrite(ctx, &s.Last, text(w.n))
	case writeLongest:
		return graph.Overwrite(ctx, &s.Longest, "")
	case writeSet:
		return graph.Overwrite(ctx, &s.Set, []int{w.n})
	case writeKeys:
		return graph.Overwrite(ctx, &s.Keys, map[string]int{"only": w.n})
	case writeLog:
		return graph.Overwrite(ctx, &s.Log, []string{text(w.n)}[:w.n%2])
	case writeScore:
		return graph.Overwrite(ctx, &s.Score, w.n)
	}
	return graph.Overwrite(ctx, &s.Title, text(w.n))
}

// expect does to a state what the rules say.
func (w ruledWrite) expect(s *ruled, was *ruled) {
	if w.over {
		w.expectOver(s)
		return
	}
	switch w.field {
	case writeMax:
		s.Max = max(s.Max, w.n)
		if was.Max == 0 && s.Max == 0 {
			s.Max = w.n
		}
	case writeMin:
		if s.Min == 0 || w.n < s.Min {
			s.Min = w.n
		}
	case writeFirst:
		if s.First == "" {
			s.First = text(w.n)
		}
	case writeLongest:
		if len(text(w.n)) > len(s.Longest) {
			s.Longest = text(w.n)
		}
	case writeSet:
		for _, x := range []int{w.n % 7, w.n} {
			if !slices.Contains(s.Set, x) {
				s.Set = append(s.Set, x)
			}
		}
	case writeScore:
		s.Score += w.n
	default:
		_ = w.apply(context.Background(), s)
	}
}

func (w ruledWrite) expectOver(s *ruled) {
	switch w.field {
	case writeLongest:
		s.Longest = ""
	case writeMean:
		s.Mean = graph.Mean{Sum: float64(w.n), Count: 1}
	case writeSet:
		s.Set = []int{w.n}
	case writeKeys:
		s.Keys = map[string]int{"only": w.n}
	case writeLog:
		s.Log = []string{text(w.n)}[:w.n%2]
	case writeSum:
		s.Sum = int64(w.n)
	case writeScore:
		s.Score = w.n
	default:
		_ = ruledWrite{field: w.field, n: w.n}.apply(context.Background(), s)
	}
}

// A layer is a list of nodes that run beside each other, or one after another.
type layer [][]ruledWrite

func drawLayers(r *rand.Rand) []layer {
	layers := make([]layer, 1+r.IntN(4))
	for i := range layers {
		layers[i] = make(layer, 1+r.IntN(4))
		titled := r.IntN(len(layers[i])) // replace: one writes
		for j := range layers[i] {
			last := j == len(layers[i])-1
			for f := range ruledFields {
				if r.IntN(2) > 0 || f == writeTitle && j != titled {
					continue
				}
				// An overwrite of the last one stands, in either order.
				over := last && r.IntN(6) == 0
				layers[i][j] = append(layers[i][j], ruledWrite{f, 1 + r.IntN(1<<40), over})
			}
		}
	}
	return layers
}

// layered makes a graph of the layers: each of their nodes in a step of its own,
// or all of a layer in one step.
func layered(layers []layer, together bool) *graph.Graph[ruled] {
	g := graph.New[ruled]("layered")
	graph.Merge(g, "Score", addScores)
	at := graph.Start
	for i, l := range layers {
		var names []string
		for j, ws := range l {
			name := fmt.Sprintf("n%d-%d", i, j)
			names = append(names, name)
			g.Node(name, func(ctx context.Context, s *ruled) error {
				for _, w := range ws {
					if err := w.apply(ctx, s); err != nil {
						return err
					}
				}
				return nil
			})
			g.Edge(at, name)
			if !together {
				at = name
			}
		}
		if together {
			at = fmt.Sprintf("join%d", i)
			g.Node(at, func(context.Context, *ruled) error { return nil })
			if len(names) > 1 {
				g.Join(at, names...)
			} else {
				g.Edge(names[0], at)
			}
		}
	}
	g.Edge(at, graph.End)
	return g
}

// Rules hold for a node that is alone in its step as for many: random graphs come
// to the same whether the nodes of a layer run beside each other or one after
// another, and to what the rules say.
func TestRulesHoldAloneAndTogether(t *testing.T) {
	n := 400
	if testing.Short() {
		n = 60
	}
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 10))
		layers := drawLayers(r)
		in := ruled{Keys: map[string]int{"begin": 1}, Set: []int{3}}
		if r.IntN(2) > 0 {
			in.Max, in.Min, in.First, in.Log, in.Longest = 5, 5, "first", []string{"a", "b"}, text(4)
		}
		want := in
		want.Keys, want.Set, want.Log = maps.Clone(in.Keys), slices.Clone(in.Set), slices.Clone(in.Log)
		for _, l := range layers {
			for _, ws := range l {
				for _, w := range ws {
					w.expect(&want, &want)
				}
			}
		}
		for _, together := range []bool{true, false} {
			a := compile(t, layered(layers, together), newLedger(t), nil)
			out, err := a.Run(t.Context(), "t", in)
			if err != nil {
				t.Fatalf("seed %d, together %v: %v", seed, together, err)
			}
			if a, b := jsonOf(t, out.State), jsonOf(t, want); a != b {
				t.Fatalf("seed %d, together %v:\n have %s\n want %s\n of %+v", seed, together, a, b, layers)
			}
			if s := must.Get(a.State(t.Context(), "t"))(t); !reflect.DeepEqual(s.State, out.State) {
				t.Fatalf("seed %d: on record %+v, returned %+v", seed, s.State, out.State)
			}
		}
	}
}

func jsonOf(tb testing.TB, v any) string {
	tb.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// A node's routes are read after the merge rules, whether or not others run
// beside it, and a restart finds the state that the rules left.
func TestRoutesSeeTheMergedState(t *testing.T) {
	for _, beside := range []bool{false, true} {
		g := graph.New[ruled]("ways")
		g.Node("low", func(_ context.Context, s *ruled) error { s.Max, s.First, s.Set = 2, "second", nil; return nil })
		g.Node("high", func(_ context.Context, s *ruled) error { s.Title = "high"; return nil })
		g.Node("idle", func(context.Context, *ruled) error { return nil })
		g.Edge(graph.Start, "low")
		g.Edge("idle", graph.End)
		if beside {
			g.Edge(graph.Start, "idle")
			g.Edge("high", graph.End)
		} else {
			g.Edge("high", "idle")
		}
		g.Route("low", func(s *ruled) string {
			if s.Max == 9 && s.First == "first" && len(s.Set) == 1 {
				return "high"
			}
			return graph.End
		}, "high", graph.End)
		a := compile(t, g, newLedger(t), nil)
		out := must.Get(a.Run(t.Context(), "t", ruled{Max: 9, First: "first", Set: []int{1}}))(t)
		if s := out.State; s.Max != 9 || s.First != "first" || len(s.Set) != 1 || s.Title != "high" {
			t.Fatalf("beside %v: %+v", beside, s)
		}
	}
}

// An overwrite is a node's own word: a list gets shorter, again and again, with
// checkpoints and without, and the elements after it are on record.
func TestOverwriteTrimsAList(t *testing.T) {
	for _, o := range []graph.RunOptions{{}, {Durability: graph.Exit}, {Durability: graph.Async}} {
		store := memstore.New()
		g := graph.New[chat]("trim")
		g.Node("trim", func(ctx context.Context, s *chat) error {
			s.Messages = append(s.Messages, message{"tool", fmt.Sprint(len(s.Messages))})
			if len(s.Messages) > 3 {
				if err := graph.Overwrite(ctx, &s.Messages, slices.Clone(s.Messages[2:])); err != nil {
					return err
				}
				s.Messages[0].Text = "summary" // after it, everything may be changed
				s.Messages = append(s.Messages, message{"tool", "behind"})
			}
			return nil
		})
		g.Edge(graph.Start, "trim")
		turns := 0
		g.Route("trim", func(*chat) string {
			if turns++; turns < 9 {
				return "trim"
			}
			return graph.End
		}, "trim", graph.End)
		l := open(t, store, nil)
		a := compile(t, g, l, nil)
		out := must.Get(a.Run(t.Context(), "t", chat{Messages: []message{{"user", "hello"}}}, o))(t)
		again := compile(t, g, open(t, store, nil), nil)
		if s := must.Get(again.State(t.Context(), "t"))(t); !reflect.DeepEqual(s.State, out.State) || s.State.Messages[0].Text != "summary" && len(s.State.Messages) > 3 {
			t.Fatalf("on record %+v, returned %+v", s.State, out.State)
		}
		turns = 7
		next := must.Get(again.Run(t.Context(), "t", chat{Messages: []message{{"user", "more"}}}, o))(t)
		if s := must.Get(a.State(t.Context(), "t"))(t); !reflect.DeepEqual(s.State, next.State) {
			t.Fatalf("on record %+v, returned %+v", s.State, next.State)
		}
	}
}

// Beside others an overwrite stands alone; two that differ are an error, also
// where one of them is on record already.
func TestOverwriteBesideOthers(t *testing.T) {
	l := newLedger(t)
	g := graph.New[ruled]("beside")
	value, fail := 1, true
	node := func(name string, fn func(ctx context.Context, s *ruled) error) {
		g.Node(name, fn)
		g.Edge(graph.Start, name)
		g.Edge(name, graph.End)
	}
	node("a", func(ctx context.Context, s *ruled) error {
		return errors.Join(graph.Overwrite(ctx, &s.Max, 1), graph.Overwrite(ctx, &s.Log, []string{"only"}))
	})
	node("b", func(_ context.Context, s *ruled) error { s.Max, s.Log = 99, append(s.Log, "b"); return nil })
	node("c", func(ctx context.Context, s *ruled) error {
		if fail {
			return errors.New("not yet")
		}
		return graph.Overwrite(ctx, &s.Max, value)
	})
	a := compile(t, g, l, nil)
	in := ruled{Max: 9, Log: []string{"x", "y"}}
	if _, err := a.Run(t.Context(), "t", in); err == nil {
		t.Fatal("c did not fail")
	}
	fail = false // what a wrote is on record by now
	out := must.Get(compile(t, g, l, nil).Resume(t.Context(), "t"))(t)
	if out.State.Max != 1 || jsonOf(t, out.State.Log) != `["only"]` {
		t.Fatalf("state %+v", out.State)
	}
	value = 2
	_, err := a.Run(t.Context(), "u", in)
	var m *graph.MergeError
	if !errors.As(err, &m) || m.Part != "Max" || jsonOf(t, m.Nodes) != `["a","c"]` {
		t.Fatalf("error %v", err)
	}
}

func TestOverwriteOfAForeignField(t *testing.T) {
	l := newLedger(t)
	g := graph.New[ruled]("bad")
	var late context.Context
	g.Node("n", func(ctx context.Context, s *ruled) error {
		late = ctx
		other := 3
		must.Fail(t, graph.Overwrite(ctx, &other, 4), posthouse.ErrInvalid)
		must.Fail(t, graph.Overwrite(ctx, &s.Mean.Sum, 4), posthouse.ErrInvalid)
		must.Fail(t, graph.Overwrite(t.Context(), &s.Max, 4), posthouse.ErrInvalid)
		return graph.Overwrite(ctx, &s.Max, 4)
	})
	g.Edge(graph.Start, "n")
	g.Edge("n", graph.End)
	out := must.Get(compile(t, g, l, nil).Run(t.Context(), "t", ruled{Max: 9}))(t)
	if out.State.Max != 4 {
		t.Fatalf("state %+v", out.State)
	}
	must.Fail(t, graph.Overwrite(late, &out.State.Max, 5), posthouse.ErrClosed)
}

// A merge function is asked for one write, too; its error fails the run.
func TestAMergeFunctionOfOneWrite(t *testing.T) {
	g := graph.New[ruled]("fn")
	graph.Merge(g, "Score", func(base int, writes []int) (int, error) {
		if writes[0] < 0 {
			return 0, errors.New("negative")
		}
		return base + writes[0], nil
	})
	g.Node("n", func(_ context.Context, s *ruled) error { s.Score = s.Min; return nil })
	g.Edge(graph.Start, "n")
	g.Edge("n", graph.End)
	a := compile(t, g, newLedger(t), nil)
	if out := must.Get(a.Run(t.Context(), "t", ruled{Min: 2, Score: 5}))(t); out.State.Score != 7 {
		t.Fatalf("state %+v", out.State)
	}
	_, err := a.Run(t.Context(), "t", ruled{Min: -2})
	var m *graph.MergeError
	if !errors.As(err, &m) || m.Part != "Score" || jsonOf(t, m.Nodes) != `["n"]` {
		t.Fatalf("error %v", err)
	}
}
