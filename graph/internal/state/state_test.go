package state_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
)

// A lines is a list that only grows.
type lines struct{ items []string }

// An average is a sum and a count.
type average struct {
	Sum   float64
	Count int64
}

type doc struct {
	Title  string
	Tags   map[string]int `posthouse:"merge"`
	Log    []string       `posthouse:"append"`
	Lines  lines
	Top    int     `posthouse:"max"`
	Score  average `posthouse:"avg"`
	Scraps []int   `posthouse:"-"`
	Any    any
}

type conflictError struct{ state.Conflict }

func (e *conflictError) Error() string { return "part " + e.Part }

func schemaOf[S any](t testing.TB, check bool) *state.Schema {
	t.Helper()
	s, bad := state.NewSchema(reflect.TypeFor[S](), state.Options{
		Codec: posthouse.JSON, Check: check, Mean: reflect.TypeFor[average](),
		IsLog:    func(t reflect.Type) bool { return t == reflect.TypeFor[lines]() },
		Conflict: func(c *state.Conflict) error { return &conflictError{*c} },
	})
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	return s
}

// show prints parts as "Name=data", a splice with what it keeps.
func show(parts []posthouse.Part) string {
	var all []string
	for _, p := range parts {
		s := p.Name + "=" + string(p.Data)
		if p.Splice {
			s = fmt.Sprintf("%s[%d:-%d]=%s", p.Name, p.Prefix, p.Suffix, p.Data)
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

// docOf returns what nodes work on.
func docOf(l *state.Live) *doc { return l.Value.(*doc) }

func wantDelta(t *testing.T, l *state.Live, want string) {
	t.Helper()
	parts, err := l.Delta()
	if err != nil {
		t.Fatal(err)
	}
	if have := show(parts); have != want {
		t.Errorf("delta is %s\nwant %s", have, want)
	}
}

// TestDeltaHoldsOnlyChanges stores a node's changes and nothing else.
func TestDeltaHoldsOnlyChanges(t *testing.T) {
	l := state.New(schemaOf[doc](t, true))
	wantDelta(t, l, "")
	docOf(l).Title, docOf(l).Log, docOf(l).Scraps = "a", []string{"x"}, []int{1}
	docOf(l).Lines.items = append(docOf(l).Lines.items, "one")
	wantDelta(t, l, `Title="a" Log=["x"] Lines=["one"]`)
	wantDelta(t, l, "")
	docOf(l).Log = append(docOf(l).Log, "y")
	docOf(l).Lines.items = append(docOf(l).Lines.items, "two")
	docOf(l).Tags = map[string]int{"k": 1}
	wantDelta(t, l, `Tags={"k":1} Log[4:-1]=,"y" Lines[6:-1]=,"two"`)
	docOf(l).Tags["k"] = 2
	wantDelta(t, l, `Tags={"k":2}`)
	docOf(l).Title = ""
	wantDelta(t, l, `Title=""`)
}

// TestAppendPartsOnlyGrow refuses edits and cuts, unless the part is overwritten.
func TestAppendPartsOnlyGrow(t *testing.T) {
	schema := schemaOf[doc](t, false)
	for name, c := range map[string]struct {
		edit func(*doc)
		want string
	}{
		"cut":  {func(d *doc) { d.Log = d.Log[:1] }, "elements cannot be taken away"},
		"edit": {func(d *doc) { d.Log[0] = "z" }, "had its element 0 edited in place"},
	} {
		t.Run(name, func(t *testing.T) {
			l := state.New(schema)
			docOf(l).Log = []string{"x", "y"}
			wantDelta(t, l, `Log=["x","y"]`)
			c.edit(docOf(l))
			_, err := l.Delta()
			if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	l := state.New(schema)
	docOf(l).Log = []string{"x", "y"}
	wantDelta(t, l, `Log=["x","y"]`)
	if l.Overwrite(&docOf(l).Scraps) || !l.Overwrite(&docOf(l).Log) {
		t.Error("Overwrite takes what is no part, or refuses one")
	}
	docOf(l).Log = docOf(l).Log[1:]
	wantDelta(t, l, `Log=["y"]`)
}

// TestMergeOfBranches merges what tasks wrote by the rules of the parts.
func TestMergeOfBranches(t *testing.T) {
	schema := schemaOf[doc](t, true)
	l := state.New(schema)
	docOf(l).Log, docOf(l).Tags, docOf(l).Top, docOf(l).Score = []string{"base"}, map[string]int{"a": 1, "b": 1}, 5, average{10, 1}
	if _, err := l.Delta(); err != nil {
		t.Fatal(err)
	}
	run := func(name string, edit func(*doc)) state.Result {
		b, err := l.Branch()
		if err != nil {
			t.Fatal(err)
		}
		edit(docOf(b))
		ws, err := b.Writes()
		if err != nil {
			t.Fatal(err)
		}
		return state.Result{Task: name, Writes: ws}
	}
	one := run("one", func(d *doc) {
		d.Log, d.Top, d.Score = append(d.Log, "1"), 7, average{14, 2}
		delete(d.Tags, "a")
	})
	two := run("two", func(d *doc) {
		d.Log, d.Top, d.Score = append(d.Log, "2"), 6, average{16, 2}
		d.Tags["c"] = 3
	})
	if err := l.Merge([]state.Result{one, two}); err != nil {
		t.Fatal(err)
	}
	v := docOf(l)
	if !slices.Equal(v.Log, []string{"base", "1", "2"}) || fmt.Sprint(v.Tags) != "map[b:1 c:3]" || v.Top != 7 || v.Score != (average{20, 3}) {
		t.Errorf("%+v", v)
	}
	if _, err := l.Delta(); err != nil {
		t.Fatal(err)
	}
	x, y := run("x", func(d *doc) { d.Title = "x" }), run("y", func(d *doc) { d.Title = "y" })
	var c *conflictError
	if err := l.Merge([]state.Result{x, y}); !errors.As(err, &c) || c.Part != "Title" || !slices.Equal(c.Nodes, []string{"x", "y"}) {
		t.Errorf("%v", err)
	}
}

// TestDecodeGoesOn reads a checkpoint and goes on with it as if it had never been
// away.
func TestDecodeGoesOn(t *testing.T) {
	schema := schemaOf[doc](t, false)
	l := state.New(schema)
	docOf(l).Title, docOf(l).Lines.items, docOf(l).Any = "a", []string{"one"}, map[string]any{"n": 1.5}
	parts, err := l.Delta()
	if err != nil {
		t.Fatal(err)
	}
	stored := posthouse.State{}
	if err := state.ApplyParts(stored, parts); err != nil {
		t.Fatal(err)
	}
	back, err := state.Decode(schema, &posthouse.Checkpoint{State: stored})
	if err != nil {
		t.Fatal(err)
	}
	if differ := schema.Diff(l.Value, back.Value); len(differ) > 0 {
		t.Errorf("%v differ: %+v and %+v", differ, l.Value, back.Value)
	}
	wantDelta(t, back, "")
	docOf(back).Lines.items = append(docOf(back).Lines.items, "two")
	wantDelta(t, back, `Lines[6:-1]=,"two"`)
}

// TestJoinedPartsAreOneChange holds that two changes joined do what both do.
func TestJoinedPartsAreOneChange(t *testing.T) {
	l := state.New(schemaOf[doc](t, false))
	stored, joined := posthouse.State{}, []posthouse.Part(nil)
	var first posthouse.State
	for i, text := range []string{"a", "b", "c", "d"} {
		docOf(l).Log, docOf(l).Title = append(docOf(l).Log, text), text
		parts, err := l.Delta()
		if err == nil {
			err = state.ApplyParts(stored, parts)
		}
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = stored.Clone()
			continue
		}
		joined = state.JoinParts(joined, slices.Clone(parts))
	}
	if err := state.ApplyParts(first, joined); err != nil || !reflect.DeepEqual(first, stored) {
		t.Errorf("%v: joined %v, one by one %v", err, first, stored)
	}
	if err := state.ApplyParts(posthouse.State{}, []posthouse.Part{{Name: "p", Splice: true, Prefix: 1}}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a splice of nothing: %v", err)
	}
}

// TestTypesThatCannotBeStored are refused, each with its field.
func TestTypesThatCannotBeStored(t *testing.T) {
	type bad struct {
		hidden int
		C      chan int
		M      map[string]int `posthouse:"append"`
		S      string         `posthouse:"sum"`
		P      int            `posthouse:"name=$p"`
	}
	_, list := state.NewSchema(reflect.TypeFor[bad](), state.Options{Codec: posthouse.JSON, IsLog: func(reflect.Type) bool { return false }})
	text := strings.Join(list, "\n")
	for _, want := range []string{"hidden is unexported", "C is a chan int", "field M is a map", "S is a string and cannot be tagged sum", `part name "$p"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	_ = bad{}.hidden
}
