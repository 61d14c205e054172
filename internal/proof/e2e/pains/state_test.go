package pains_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
)

// reads counts the bytes of states that are read from a store.
type reads struct {
	posthouse.Store
	bytes int
}

func (r *reads) Read(ctx context.Context, thread string, g posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range r.Store.Read(ctx, thread, g) {
			if err == nil {
				for _, b := range e.Bodies {
					r.bytes += len(b)
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Turns of a chat cost what they add, whatever is there already, and a large
// unchanged value costs nothing. The load is the one that stores 487 MB
// elsewhere: 400 turns of three messages, beside a text of 20 KB.
func TestPain01StorageGrowsWithWhatChanged(t *testing.T) {
	h := newHouse(t, filepath.Join(t.TempDir(), "p.db"))
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abcdefghijklmnopqrstuvwxyz     "[r.IntN(31)]
		}
		return string(b)
	}
	speak := func(_ context.Context, s *state) error { s.Log = append(s.Log, text(400)); return nil }
	g := line("chat", node{name: "think", run: speak}, node{name: "answer", run: speak})
	app := h.app(g, graph.CompileOptions{})
	size := func() (n int64) {
		h.restart() // the write-ahead log has gone into the file
		app = h.app(g, graph.CompileOptions{})
		for _, f := range must(os.ReadDir(filepath.Dir(h.path)))(h) {
			n += must(f.Info())(h).Size()
		}
		return n
	}
	turns := func(n int) {
		for range n {
			must(app.Run(h.Context(), "t", state{Log: []string{text(400)}}))(h)
		}
	}
	must(app.Run(h.Context(), "t", state{Doc: text(20000)}))(h)
	began := size()
	n := 200
	if testing.Short() {
		n = 50
	}
	turns(n)
	half := size() - began
	turns(n)
	all := size() - began
	t.Logf("%d turns have %d bytes, %d have %d", n, half, 2*n, all)
	if ratio := float64(all) / float64(half); ratio > 2.3 || all > int64(2*n)*(3<<20)/400 {
		t.Errorf("%.2f times as much", ratio)
	}
	if s := must(app.State(h.Context(), "t"))(h); len(s.State.Log) != 6*n+2 || len(s.State.Doc) != 20000 {
		t.Error(len(s.State.Log), len(s.State.Doc))
	}
}

// Listing threads, checkpoints and questions reads no state, however large.
func TestPain12ListingDoesNotReadStates(t *testing.T) {
	onStores(t, func(h *house) {
		counted := &reads{Store: h.store}
		l := h.open(counted, "me")
		app := must(line("big", node{name: "a", run: say("a")}, node{name: "b", run: say("b")}).Compile(l, nil))(h)
		for i := range 10 {
			must(app.Run(h.Context(), fmt.Sprint("t", i), state{Doc: strings.Repeat(fmt.Sprint(i), 50000)}))(h)
		}
		counted.bytes = 0
		n := 0
		for c, err := range l.List(h.Context(), posthouse.Query{Descending: true, Limit: 20}) {
			if must(c, err)(h).Size < 50000 {
				h.Fatalf("%+v", c)
			}
			n++
		}
		for c, err := range l.List(h.Context(), posthouse.Query{Thread: "t3", Node: "b", Status: posthouse.StatusDone}) {
			must(c, err)(h)
			n++
		}
		for th, err := range l.Threads(h.Context(), posthouse.ThreadQuery{}) {
			must(th, err)(h)
			n++
		}
		want(h, "listed, and bytes of states read", []int{n, counted.bytes}, "[31 0]")
		for c, err := range l.ListStates(h.Context(), posthouse.Query{Thread: "t3"}) {
			must(c, err)(h)
		}
		if counted.bytes < 50000 {
			h.Fatalf("the states have %d bytes: the count is wrong", counted.bytes)
		}
	})
}

// An attacker can write values, not types or queries: a value that looks like an
// object to be built stays a map, a filter that looks like SQL matches nothing.
func TestPain10BytesAndFiltersAreData(t *testing.T) {
	onStores(t, func(h *house) {
		type open struct{ Value any }
		const evil = `{"__type__":"os/exec.Cmd","id":["os","exec"],"kwargs":{"Path":"/bin/sh"},"lc":1,"type":"constructor"}`
		g := graph.New[open]("open")
		g.Node("a", func(context.Context, *open) error { return nil })
		g.Edge(graph.Start, "a")
		g.Edge("a", graph.End)
		var in any
		must(0, json.Unmarshal([]byte(evil), &in))(h)
		must(must(g.Compile(h.ledger, nil))(h).Run(h.Context(), "t", open{in}))(h)
		h.restart()
		s := must(must(g.Compile(h.ledger, nil))(h).State(h.Context(), "t"))(h)
		if _, ok := s.State.Value.(map[string]any); !ok {
			h.Fatalf("a %T", s.State.Value)
		}
		want(h, "value", string(must(json.Marshal(s.State.Value))(h)), evil)
		for _, q := range []posthouse.Query{
			{Label: "x' OR '1'='1"}, {Label: "$.x') OR 1=1 --", LabelValue: "1"}, {Node: "a' OR 'a'='a"}, {Run: "' OR 1=1 --"},
		} {
			want(h, fmt.Sprintf("%+v", q), h.kinds(q), "")
		}
		want(h, "history", h.kinds(posthouse.Query{Thread: "t"}), "input, node a")
	})
}

type moment struct {
	Text  string
	Bytes []byte
	Big   int64
	Small float64
	At    time.Time
	None  *int
	Zero  *int
	Map   map[string]int
	Keys  map[int]string
	Any   any `posthouse:"-"`
}

// Values come back as they were: NUL and other characters, all digits, times to
// the nanosecond, nothing told apart from zero. Other values are refused by name,
// and are never dropped.
func TestPain15TypesSurviveOrAreRefusedByName(t *testing.T) {
	onStores(t, func(h *house) {
		zero := 0
		in := moment{
			Text: "a\x00b\u2028\"\\<é𝄞", Bytes: []byte{0, 255, 1}, Big: math.MaxInt64, Small: math.SmallestNonzeroFloat64,
			At: time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC), Zero: &zero, Map: map[string]int{"\x00": 1}, Keys: map[int]string{-1: "x"},
		}
		g := graph.New[moment]("types")
		g.Node("a", func(context.Context, *moment) error { return nil })
		g.Edge(graph.Start, "a")
		g.Edge("a", graph.End)
		must(must(g.Compile(h.ledger, nil))(h).Run(h.Context(), "t", in))(h)
		h.restart()
		got := must(must(g.Compile(h.ledger, nil))(h).State(h.Context(), "t"))(h).State
		if a, b := fmt.Sprintf("%q", must(json.Marshal(in))(h)), fmt.Sprintf("%q", must(json.Marshal(got))(h)); a != b || got.None != nil || got.Zero == nil {
			h.Fatalf("%s came back as %s", a, b)
		}

		type opaque struct{ Handle any }
		o := graph.New[opaque]("opaque")
		o.Node("a", func(_ context.Context, s *opaque) error { s.Handle = make(chan int); return nil })
		o.Edge(graph.Start, "a")
		o.Edge("a", graph.End)
		app := must(o.Compile(h.ledger, nil))(h)
		if _, err := app.Run(h.Context(), "opaque", opaque{Handle: "was"}); err == nil || !strings.Contains(err.Error(), "Handle") {
			h.Fatalf("error %v does not name the field", err)
		}
		want(h, "state", must(app.State(h.Context(), "opaque"))(h).State.Handle, "was")

		type other struct{ Text int }
		later := graph.New[other]("types")
		later.Node("a", func(context.Context, *other) error { return nil })
		later.Edge(graph.Start, "a")
		later.Edge("a", graph.End)
		_, err := must(later.Compile(h.ledger, nil))(h).State(h.Context(), "t")
		wantIs(h, err, posthouse.ErrInvalid)
		if !strings.Contains(err.Error(), `part "Text"`) || !strings.Contains(err.Error(), "int") {
			h.Fatalf("error %v does not name the part and the type", err)
		}
	})
}
