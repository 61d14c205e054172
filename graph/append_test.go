package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
)

type item struct {
	Text string
	N    int
}

type deepItem struct {
	Tags map[string]int
	Ptr  *item
}

type lists struct {
	Flat []item     `posthouse:"append"`
	Deep []deepItem `posthouse:"append,name=deep"`
	Log  graph.Log[string]
	N    int
}

// once runs change in a node between two others that change nothing.
func once(change func(s *lists)) *graph.Graph[lists] {
	g := graph.New[lists]("once")
	idle := func(context.Context, *lists) error { return nil }
	g.Node("before", idle)
	g.Node("change", func(_ context.Context, s *lists) error { change(s); return nil })
	g.Node("after", idle)
	g.Edge(graph.Start, "before")
	g.Edge("before", "change")
	g.Edge("change", "after")
	g.Edge("after", graph.End)
	return g
}

func someLists() lists {
	return lists{
		Flat: []item{{"a", 1}, {"b", 2}},
		Deep: []deepItem{{Tags: map[string]int{"x": 1}}, {Ptr: &item{"p", 3}}},
		Log:  graph.LogOf("l"),
	}
}

func TestAppendAbuse(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(s *lists)
		field  string // of the error; "" if the change is allowed
		says   string
		late   bool // found only when the run ends, unless Check is on
	}{
		{"nothing", func(s *lists) {}, "", "", false},
		{"append", func(s *lists) { s.Flat = append(s.Flat, item{"c", 3}); s.Deep = append(s.Deep, deepItem{}) }, "", "", false},
		{"append many", func(s *lists) {
			for i := range 100 {
				s.Flat = append(s.Flat, item{fmt.Sprint(i), i})
				s.Log.Append(fmt.Sprint(i))
			}
		}, "", "", false},
		{"rebuild with equal elements", func(s *lists) {
			flat := make([]item, 0, 50)
			for _, i := range s.Flat {
				flat = append(flat, item{strings.Clone(i.Text), i.N})
			}
			s.Flat = append(flat, item{"new", 1})
		}, "", "", false},
		{"sort a copy", func(s *lists) { c := slices.Clone(s.Flat); c[0].N = 9 }, "", "", false},
		{"append to a shortened alias", func(s *lists) { _ = append(s.Flat[:1:1], item{"z", 9}) }, "", "", false},
		{"shrink", func(s *lists) { s.Flat = s.Flat[:1] }, "Flat", "had 2 elements and now has 1", false},
		{"drop all", func(s *lists) { s.Deep = nil }, "Deep", "had 2 elements and now has 0", false},
		{"edit in place", func(s *lists) { s.Flat[1].N = 9 }, "Flat", "element 1 edited", false},
		{"edit text in place", func(s *lists) { s.Flat[0].Text = "A" }, "Flat", "element 0 edited", false},
		{"edit and append", func(s *lists) { s.Flat = append(s.Flat, item{}); s.Flat[1].N = 9 }, "Flat", "element 1 edited", false},
		{"overwrite through an alias", func(s *lists) { _ = append(s.Flat[:1], item{"z", 9}) }, "Flat", "element 1 edited", false},
		{"put in front", func(s *lists) { s.Flat = append([]item{{"z", 0}}, s.Flat...) }, "Flat", "element 0 edited", false},
		{"replace", func(s *lists) { s.Deep = []deepItem{{}, {}, {}} }, "Deep", "element 0 edited", false},
		{"edit a map in place", func(s *lists) { s.Deep[0].Tags["x"] = 2 }, "Deep", "element 0 edited", true},
		{"edit behind a pointer", func(s *lists) { s.Deep[1].Ptr.N = 4 }, "Deep", "element 1 edited", true},
		{"edit behind a pointer and append", func(s *lists) {
			s.Deep[1].Ptr.N = 4
			s.Deep = append(s.Deep, deepItem{})
		}, "Deep", "element 1 edited", true},
		{"replace a log", func(s *lists) { s.Log = graph.LogOf("other") }, "Log", "element 0 edited", false},
		{"empty a log", func(s *lists) { s.Log = graph.Log[string]{} }, "Log", "had 1 elements", false},
	} {
		for _, check := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, check %v", test.name, check), func(t *testing.T) {
				a := compile(t, once(test.change), newLedger(t), &graph.CompileOptions{Check: check})
				out, err := a.Run(t.Context(), "t", someLists())
				if test.field == "" {
					if err != nil {
						t.Fatal(err)
					}
					s := must.Get(a.State(t.Context(), "t"))(t)
					if fmt.Sprint(s.State.Flat) != fmt.Sprint(out.State.Flat) || s.State.Log.Len() != out.State.Log.Len() {
						t.Fatalf("stored %+v, returned %+v", s.State, out.State)
					}
					return
				}
				var e *posthouse.Error
				var node *graph.NodeError
				if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != test.field || !strings.Contains(e.Message, test.says) {
					t.Fatalf("error %v", err)
				}
				want := "change"
				if test.late && !check {
					want = "after"
				}
				if !errors.As(err, &node) || node.Node != want {
					t.Fatalf("error %v, want node %s", err, want)
				}
				s := must.Get(a.State(t.Context(), "t"))(t)
				if s.Status != posthouse.StatusFailed || len(s.State.Flat) != 2 || s.State.Flat[1].N != 2 ||
					len(s.State.Deep) < 2 || s.State.Deep[1].Ptr.N != 3 || s.State.Deep[0].Tags["x"] != 1 {
					t.Fatalf("head %+v", s)
				}
			})
		}
	}
}

// Nodes never get spare capacity to write into.
func TestAppendPartsHaveNoSpareCapacity(t *testing.T) {
	g := graph.New[lists]("cap")
	g.Node("a", func(_ context.Context, s *lists) error {
		if len(s.Flat) != cap(s.Flat) || len(s.Deep) != cap(s.Deep) {
			return fmt.Errorf("capacity %d for %d, %d for %d", cap(s.Flat), len(s.Flat), cap(s.Deep), len(s.Deep))
		}
		s.Flat, s.Deep = append(s.Flat, item{}), append(s.Deep, deepItem{})
		s.Log.Append("x")
		s.N++
		return nil
	})
	g.Edge(graph.Start, "a")
	g.Route("a", func(s *lists) string {
		if s.N == 20 {
			return graph.End
		}
		return "a"
	})
	a := compile(t, g, newLedger(t), &graph.CompileOptions{Check: true})
	if out := must.Get(a.Run(t.Context(), "t", lists{}))(t); len(out.State.Flat) != 20 || out.State.Log.Len() != 20 {
		t.Fatalf("state %+v", out.State)
	}
	for i, s := range history(t, a, "t") {
		if want := 20 - i; len(s.State.Flat) != want || len(s.State.Deep) != want || s.State.Log.Len() != want {
			t.Fatalf("checkpoint %d: %+v", i, s.State)
		}
	}
}

// An element costs its own bytes, whatever is before it.
func TestAppendIsStoredByItsElements(t *testing.T) {
	l := newLedger(t)
	text := strings.Repeat("0123456789", 100)
	g := graph.New[lists]("sizes")
	g.Node("a", func(_ context.Context, s *lists) error {
		s.N++
		s.Flat = append(s.Flat, item{text, s.N})
		s.Log.Append(text)
		return nil
	})
	g.Edge(graph.Start, "a")
	g.Route("a", func(s *lists) string {
		if s.N == 50 {
			return graph.End
		}
		return "a"
	})
	must.Get(compile(t, g, l, nil).Run(t.Context(), "t", lists{}))(t)
	for _, e := range entries(t, l, "t")[1:] {
		n := len(e.Header)
		for _, b := range e.Bodies {
			n += len(b)
		}
		if n > 2600 {
			t.Fatalf("entry %d has %d bytes for two elements of 1,000", e.Seq, n)
		}
	}
}

func TestLog(t *testing.T) {
	var l graph.Log[int]
	if _, ok := l.Last(); ok || l.Len() != 0 || l.Slice() != nil {
		t.Fatal("the zero log is not empty")
	}
	l.Append(1, 2)
	l.Append(3)
	if last, ok := l.Last(); !ok || last != 3 || l.At(0) != 1 {
		t.Fatalf("log %+v", l)
	}
	sum := 0
	for i, v := range l.All() {
		sum += i * v
	}
	if s := l.Slice(); sum != 8 || len(s) != 3 {
		t.Fatalf("sum %d, slice %v", sum, s)
	}
	data := must.Get(posthouse.JSON.Marshal(l))(t)
	var back graph.Log[int]
	if err := posthouse.JSON.Unmarshal(data, &back); err != nil || string(data) != "[1,2,3]" || back.At(2) != 3 {
		t.Fatalf("data %s, back %+v, error %v", data, back, err)
	}
}
