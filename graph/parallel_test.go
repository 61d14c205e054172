package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// A fan is a state with a part for each way to merge.
type fan struct {
	Log    []string `posthouse:"append"`
	Sum    int      `posthouse:"sum"`
	Max    int      `posthouse:"max"`
	Min    float64  `posthouse:"min"`
	Mean   graph.Mean
	First  string         `posthouse:"first"`
	Last   string         `posthouse:"last"`
	Long   string         `posthouse:"longest"`
	Set    []string       `posthouse:"set"`
	Map    map[string]int `posthouse:"merge"`
	Own    string
	Custom int
}

func fanned(t testing.TB, l *ledger.Ledger, a, b func(context.Context, *fan) error, o *graph.CompileOptions) *graph.App[fan] {
	t.Helper()
	g := graph.New[fan]("fan")
	g.Node("a", a)
	g.Node("b", b)
	g.Node("join", func(_ context.Context, s *fan) error { s.Log = append(s.Log, "join"); return nil })
	g.Edge(graph.Start, "a")
	g.Edge(graph.Start, "b")
	g.Join("join", "a", "b")
	g.Edge("join", graph.End)
	graph.Merge(g, "Custom", func(base int, writes []int) (int, error) {
		for _, w := range writes {
			if w < 0 {
				return 0, errors.New("negative")
			}
			base = base*10 + w
		}
		return base, nil
	})
	return compile(t, g, l, o)
}

// The base counts once, whatever the order in which the tasks finish.
func TestMergeRules(t *testing.T) {
	gate := make(chan struct{})
	app := fanned(t, newLedger(t), func(_ context.Context, s *fan) error {
		<-gate // a finishes last
		s.Log = append(s.Log, "a1", "a2")
		s.Sum += 2
		s.Max, s.Min = 7, 0.5
		s.Mean.Add(10)
		s.First, s.Last, s.Long = "a", "a", "aaaa"
		s.Set = append(s.Set, "x", "base")
		s.Map["a"] = 1
		delete(s.Map, "gone")
		s.Own, s.Custom = "same", 1
		return nil
	}, func(_ context.Context, s *fan) error {
		defer close(gate)
		s.Log = append(s.Log, "b1")
		s.Sum += 3
		s.Max, s.Min = 5, 2
		s.Mean.Add(20)
		s.First, s.Last, s.Long = "b", "b", "bb"
		s.Set = append(s.Set, "x", "y")
		s.Map["b"] = 2
		s.Own, s.Custom = "same", 2
		return nil
	}, nil)
	in := fan{
		Log: []string{"base"}, Sum: 100, Max: 6, Min: 1, Mean: graph.Mean{Sum: 30, Count: 1}, Long: "aaa",
		Set: []string{"base"}, Map: map[string]int{"base": 9, "gone": 9}, Custom: 3,
	}
	out, err := app.Run(t.Context(), "t", in)
	if err != nil {
		t.Fatal(err)
	}
	s := out.State
	want := fan{
		Log: []string{"base", "a1", "a2", "b1", "join"}, Sum: 105, Max: 7, Min: 0.5, Mean: graph.Mean{Sum: 60, Count: 3},
		First: "a", Last: "b", Long: "aaaa", Set: []string{"base", "x", "y"}, Map: map[string]int{"base": 9, "a": 1, "b": 2},
		Own: "same", Custom: 312,
	}
	if fmt.Sprint(s) != fmt.Sprint(want) || s.Mean.Value() != 20 {
		t.Errorf("have %+v\nwant %+v", s, want)
	}
	if again, err := app.State(t.Context(), "t"); err != nil || fmt.Sprint(again.State) != fmt.Sprint(want) {
		t.Errorf("on record %+v, %v", again, err)
	}
}

func TestTwoReplacesNameBothNodes(t *testing.T) {
	var ran atomic.Int32
	write := func(v string) func(context.Context, *fan) error {
		return func(_ context.Context, s *fan) error { ran.Add(1); s.Own = v; return nil }
	}
	app := fanned(t, newLedger(t), write("a"), write("b"), nil)
	for range 2 {
		_, err := app.Run(t.Context(), "t", fan{})
		var m *graph.MergeError
		if !errors.As(err, &m) || m.Part != "Own" || !slices.Equal(m.Nodes, []string{"a", "b"}) || !errors.Is(err, posthouse.ErrConflict) {
			t.Fatal(err)
		}
	}
	before := ran.Load()
	if _, err := app.Resume(t.Context(), "t"); !errors.Is(err, posthouse.ErrConflict) || ran.Load() != before {
		t.Fatal("tasks that completed ran again", err)
	}
	if s, err := app.State(t.Context(), "t"); err != nil || s.Status != posthouse.StatusFailed || s.State.Own != "" {
		t.Fatal(s, err)
	}
}

// A crash or failure of one task does not run the others again.
func TestFinishedTasksNeverRunAgain(t *testing.T) {
	l := newLedger(t)
	var a, b atomic.Int32
	broken := true
	app := fanned(t, l, func(_ context.Context, s *fan) error {
		a.Add(1)
		s.Log = append(s.Log, "a")
		s.Sum++
		return nil
	}, func(_ context.Context, s *fan) error {
		b.Add(1)
		if broken {
			return errors.New("boom")
		}
		s.Log = append(s.Log, "b")
		s.Sum += 10
		return nil
	}, nil)
	_, err := app.Run(t.Context(), "t", fan{Sum: 100})
	var n *graph.NodeError
	if !errors.As(err, &n) || n.Node != "b" {
		t.Fatal(err)
	}
	if s, err := app.State(t.Context(), "t"); err != nil || s.State.Sum != 100 || !slices.Equal(s.Next, []string{"a", "b"}) {
		t.Fatal(s, err)
	}
	broken = false
	out, err := app.Resume(t.Context(), "t")
	if err != nil || out.State.Sum != 111 || a.Load() != 1 || b.Load() != 2 {
		t.Fatalf("output %v, error %v, a.Load() %v, b.Load() %v", out, err, a.Load(), b.Load())
	}
	if got := strings.Join(out.State.Log, " "); got != "a b join" {
		t.Fatal(got)
	}
}

// Questions of tasks of one step have ids of their own; a task with an undecided
// gate is not run again when another's is decided.
func TestQuestionsBesideEachOther(t *testing.T) {
	ctx := t.Context()
	l := newLedger(t)
	var ran [2]atomic.Int32
	ask := func(i int, name string) func(context.Context, *fan) error {
		return func(ctx context.Context, s *fan) error {
			ran[i].Add(1)
			v, err := step.Do(ctx, "before", func(context.Context) (string, error) { return name, nil })
			if err != nil {
				return err
			}
			a, err := gate.Ask[any](ctx, gate.Question{Name: "ok"})
			if err != nil {
				return err
			}
			s.Log = append(s.Log, v+" "+string(a.Verdict))
			return nil
		}
	}
	app := fanned(t, l, ask(0, "a"), ask(1, "b"), nil)
	out, err := app.Run(ctx, "t", fan{})
	if err != nil || out.Status != posthouse.StatusWaiting || len(out.Waiting) != 2 || out.Waiting[0].ID == out.Waiting[1].ID {
		t.Fatalf("output %v, error %v", out, err)
	}
	first, second := out.Waiting[0].ID, out.Waiting[1].ID
	decide := func(id posthouse.ID, v posthouse.Verdict) {
		t.Helper()
		if _, err := l.Decide(ctx, id, posthouse.Decision{Verdict: v, By: "bob"}); err != nil {
			t.Fatal(err)
		}
	}
	decide(second, posthouse.Reject)
	out, err = app.Resume(ctx, "t")
	if err != nil || out.Status != posthouse.StatusWaiting || len(out.Waiting) != 1 || out.Waiting[0].ID != first {
		t.Fatalf("output %v, error %v", out, err)
	}
	if ran[0].Load() != 1 || ran[1].Load() != 2 {
		t.Fatalf("ran[0].Load() %v, ran[1].Load() %v", ran[0].Load(), ran[1].Load())
	}
	decide(first, posthouse.Approve)
	out, err = app.Resume(ctx, "t")
	if err != nil || out.Status != posthouse.StatusDone || ran[0].Load() != 2 || ran[1].Load() != 2 {
		t.Fatalf("output %v, error %v", out, err)
	}
	if got := strings.Join(out.State.Log, ", "); got != "a approve, b reject, join" {
		t.Fatal(got)
	}
}

// A map-reduce over a list: memory and tasks at once are bounded.
func TestSend(t *testing.T) {
	type state struct {
		Words []string
		Sizes map[string]int `posthouse:"merge"`
		Total int            `posthouse:"sum"`
	}
	var at, most atomic.Int32
	var mu sync.Mutex
	g := graph.New[state]("count")
	graph.Task(g, "size", func(_ context.Context, w string, s *state) error {
		n := at.Add(1)
		defer at.Add(-1)
		mu.Lock()
		most.Store(max(most.Load(), n))
		mu.Unlock()
		if s.Words != nil {
			return errors.New("a task sees its input only")
		}
		s.Sizes = map[string]int{w: len(w)}
		s.Total = len(w)
		return nil
	})
	g.Node("done", func(_ context.Context, s *state) error { s.Words = nil; return nil })
	g.Map(graph.Start, func(s *state) (out []graph.Send) {
		for _, w := range s.Words {
			out = append(out, graph.Send{Node: "size", Input: w})
		}
		return out
	}, "size")
	g.Edge("size", "done")
	g.Edge("done", graph.End)
	app := compile(t, g, newLedger(t), &graph.CompileOptions{Concurrency: 4})
	in := state{}
	for i := range 1000 {
		in.Words = append(in.Words, strings.Repeat("x", i))
	}
	out, err := app.Run(t.Context(), "t", in)
	if err != nil {
		t.Fatal(err)
	}
	if out.State.Total != 499500 || len(out.State.Sizes) != 1000 || out.State.Words != nil || most.Load() > 4 {
		t.Fatal(out.State.Total, len(out.State.Sizes), most.Load())
	}
	steps := 0
	for s, err := range app.History(t.Context(), "t") {
		if err != nil {
			t.Fatal(err)
		}
		if steps++; s.Kind == posthouse.KindInput && !slices.Equal(s.Next, []string{"size"}) {
			t.Fatal(s.Next)
		}
	}
	if steps != 3 {
		t.Fatal(steps, "checkpoints")
	}
}

// If several tasks fail in one step, every failure is reported.
func TestEveryFailureIsTold(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	app := fanned(t, newLedger(t), func(context.Context, *fan) error { return one }, func(context.Context, *fan) error { return two },
		&graph.CompileOptions{Concurrency: 2})
	for range 20 {
		_, err := app.Run(t.Context(), "t", fan{})
		if !errors.Is(err, one) && !errors.Is(err, two) {
			t.Fatal(err)
		}
		var n *graph.NodeError
		if errors.As(err, &n); n.Node == "a+b" && !(errors.Is(err, one) && errors.Is(err, two)) {
			t.Fatal(err)
		}
	}
}

// A task that was sent an input says which of them it is when it fails.
func TestFailureOfATaskSaysWhich(t *testing.T) {
	g := graph.New[fan]("g")
	graph.Task(g, "w", func(_ context.Context, in int, _ *fan) error {
		if in == 1 {
			return errBoom
		}
		return nil
	})
	g.Map(graph.Start, func(*fan) []graph.Send { return []graph.Send{{Node: "w", Input: 0}, {Node: "w", Input: 1}} }, "w")
	g.Edge("w", graph.End)
	_, err := compile(t, g, newLedger(t), nil).Run(t.Context(), "t", fan{})
	var n *graph.NodeError
	if !errors.As(err, &n) || n.Node != "w" || n.Err.Error() != "w#2: "+errBoom.Error() || !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
}

// TestFanOutHoldsTheStatesOfItsWorkers: of 10,000 tasks no more than the limit
// run at once, and only those have a state; what is left of the others is what
// they wrote.
func TestFanOutHoldsTheStatesOfItsWorkers(t *testing.T) {
	const sends, size = 10_000, 16 << 10
	type state struct {
		Sum     int    `posthouse:"sum"`
		All     []int  `posthouse:"append"`
		Scratch []byte `posthouse:"-"`
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := heap(), uint64(0)
	var at, atOnce atomic.Int64
	var still sync.RWMutex // for a look at the heap nothing is added to it
	g := graph.New[state]("fan")
	graph.Task(g, "add", func(_ context.Context, in int, out *state) error {
		n := at.Add(1)
		defer at.Add(-1)
		for m := atOnce.Load(); n > m && !atOnce.CompareAndSwap(m, n); m = atOnce.Load() {
		}
		still.RLock()
		out.Sum, out.All, out.Scratch = in, []int{in}, make([]byte, size)
		still.RUnlock()
		if in%2000 == 1999 {
			still.Lock()
			defer still.Unlock()
			most = max(most, heap())
		}
		return nil
	})
	g.Map(graph.Start, func(*state) []graph.Send {
		out := make([]graph.Send, sends)
		for i := range out {
			out[i] = graph.Send{Node: "add", Input: i}
		}
		return out
	}, "add")
	g.Edge("add", graph.End)
	out := must.Get(compile(t, g, newLedger(t), &graph.CompileOptions{}).Run(t.Context(), "t", state{}))(t)
	if out.State.Sum != sends*(sends-1)/2 || len(out.State.All) != sends || !slices.IsSorted(out.State.All) {
		t.Errorf("sum %d of %d, in order: %v", out.State.Sum, len(out.State.All), slices.IsSorted(out.State.All))
	}
	if n := atOnce.Load(); n > graph.DefaultConcurrency {
		t.Errorf("%d tasks at once", n)
	}
	if held := int64(most) - int64(before); held > sends*size/3 {
		t.Errorf("%d MiB are held, of %d that all states have together", held>>20, sends*size>>20)
	}
}
