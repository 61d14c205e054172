package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

type walkState struct {
	Log   []string `posthouse:"append"`
	Last  string
	Steps map[string]int
}

// walk is a line of nodes; each takes a step. stop, if not nil, may fail one.
func walk(t testing.TB, l *ledger.Ledger, ran *atomic.Int32, stop func(node string) error, o *graph.CompileOptions, opt map[string]graph.NodeOptions) *graph.App[walkState] {
	g := graph.New[walkState]("walk")
	last := graph.Start
	for _, name := range []string{"a", "b", "c", "d"} {
		g.Node(name, func(ctx context.Context, s *walkState) error {
			v, err := step.Do(ctx, "work", func(context.Context) (int, error) { return int(ran.Add(1)), nil })
			if err != nil {
				return err
			}
			s.Log = append(s.Log, fmt.Sprint(name, v))
			if s.Steps == nil {
				s.Steps = map[string]int{}
			}
			s.Last, s.Steps[name] = name, v
			if stop != nil {
				return stop(name)
			}
			return nil
		}, opt[name])
		g.Edge(last, name)
		last = name
	}
	g.Edge(last, graph.End)
	return compile(t, g, l, o)
}

func nodesOnRecord(t testing.TB, app *graph.App[walkState], thread string) string {
	t.Helper()
	var nodes []string
	for s, err := range app.History(t.Context(), thread) {
		if err != nil {
			t.Fatal(err)
		}
		nodes = append([]string{s.Kind + ":" + s.Node}, nodes...)
	}
	return strings.Join(nodes, " ")
}

// Whatever makes checkpoints, the result is the same.
func TestSnapshotsAndDurability(t *testing.T) {
	for _, c := range []struct {
		name string
		o    graph.CompileOptions
		run  graph.RunOptions
		opt  map[string]graph.NodeOptions
		want string
	}{
		{"every node", graph.CompileOptions{}, graph.RunOptions{}, nil, "input: node:a node:b node:c node:d"},
		{"async", graph.CompileOptions{}, graph.RunOptions{Durability: graph.Async}, nil, "input: node:a node:b node:c node:d"},
		{"exit", graph.CompileOptions{}, graph.RunOptions{Durability: graph.Exit}, nil, "input: node:d"},
		{"none", graph.CompileOptions{Snapshots: graph.SnapshotNone}, graph.RunOptions{}, nil, "input: node:d"},
		{"one", graph.CompileOptions{Snapshots: graph.SnapshotNone}, graph.RunOptions{}, map[string]graph.NodeOptions{"b": {Snapshots: graph.SnapshotAfter}}, "input: node:b node:d"},
		{"before", graph.CompileOptions{Snapshots: graph.SnapshotNone}, graph.RunOptions{}, map[string]graph.NodeOptions{"c": {Snapshots: graph.SnapshotBefore}}, "input: node:b node:d"},
		{"before and behind", graph.CompileOptions{Snapshots: graph.SnapshotNone}, graph.RunOptions{}, map[string]graph.NodeOptions{"c": {Snapshots: graph.SnapshotBoth}}, "input: node:b node:c node:d"},
		{"both, of all", graph.CompileOptions{Snapshots: graph.SnapshotBoth}, graph.RunOptions{}, nil, "input: node:a node:b node:c node:d"},
		{"both, of the last", graph.CompileOptions{Snapshots: graph.SnapshotNone}, graph.RunOptions{}, map[string]graph.NodeOptions{"d": {Snapshots: graph.SnapshotBoth}}, "input: node:c node:d"},
		{"both, at exit", graph.CompileOptions{Snapshots: graph.SnapshotBoth}, graph.RunOptions{Durability: graph.Exit}, nil, "input: node:d"},
		{"all but one", graph.CompileOptions{}, graph.RunOptions{}, map[string]graph.NodeOptions{"b": {Snapshots: graph.SnapshotNone}}, "input: node:a node:c node:d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger(t)
			var ran atomic.Int32
			app := walk(t, l, &ran, nil, &c.o, c.opt)
			out, err := app.Run(t.Context(), "t", walkState{Log: []string{"in"}}, c.run)
			if err != nil {
				t.Fatal(err)
			}
			want := "{[in a1 b2 c3 d4] d map[a:1 b:2 c:3 d:4]}"
			if got := fmt.Sprint(out.State); got != want {
				t.Error(got)
			}
			if s, err := app.State(t.Context(), "t"); err != nil || fmt.Sprint(s.State) != want {
				t.Error(s, err)
			}
			if got := nodesOnRecord(t, app, "t"); got != c.want {
				t.Error(got)
			}
		})
	}
}

// A failure keeps what came before it, also of nodes without a checkpoint, and
// a recorded step of theirs never runs again.
func TestFailureKeepsWhatWasSkipped(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		for _, retry := range []int{0, 2} {
			l := newLedger(t)
			var ran, fails atomic.Int32
			stop := func(node string) error {
				if node == "c" && fails.Add(1) <= 1 {
					return errors.New("boom")
				}
				return nil
			}
			app := walk(t, l, &ran, stop, nil, map[string]graph.NodeOptions{"c": {Retry: posthouse.RetryPolicy{MaxAttempts: retry + 1, InitialDelay: -1}}})
			out, err := app.Run(t.Context(), "t", walkState{}, graph.RunOptions{Durability: d})
			if retry == 0 {
				var n *graph.NodeError
				if !errors.As(err, &n) || n.Node != "c" {
					t.Fatal(d, err)
				}
				s, err := app.State(t.Context(), "t")
				if err != nil || fmt.Sprintln(s.State.Log, s.Next, s.Status) != "[a1 b2] [c] failed\n" {
					t.Fatal(d, s, err)
				}
				out, err = app.Resume(t.Context(), "t", graph.RunOptions{Durability: d})
				if err != nil {
					t.Fatal(err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(out.State.Log, ran.Load()); got != "[a1 b2 c3 d4] 4" {
				t.Error(d, retry, got)
			}
		}
	}
}

// A run that is stopped keeps what it has done.
func TestStoppedRunKeepsWhatWasSkipped(t *testing.T) {
	for _, d := range []graph.Durability{graph.Async, graph.Exit} {
		l := newLedger(t)
		ctx, cancel := context.WithCancel(t.Context())
		var ran atomic.Int32
		app := walk(t, l, &ran, func(node string) error {
			if node == "b" {
				cancel()
			}
			return nil
		}, nil, nil)
		if _, err := app.Run(ctx, "t", walkState{}, graph.RunOptions{Durability: d}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if s, err := app.State(t.Context(), "t"); err != nil || fmt.Sprint(s.State.Log, s.Next) != "[a1 b2] [c]" {
			t.Fatal(d, s, err)
		}
		if out, err := app.Resume(t.Context(), "t"); err != nil || fmt.Sprint(out.State.Log, ran.Load()) != "[a1 b2 c3 d4] 4" {
			t.Fatal(d, out, err)
		}
	}
}

// A mortal store refuses everything once its process is dead.
type mortal struct {
	posthouse.Store
	dead atomic.Bool
}

func (m *mortal) Append(ctx context.Context, b *posthouse.Batch) error {
	if m.dead.Load() {
		return &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "the process is dead"}
	}
	return m.Store.Append(ctx, b)
}

// A run that wrote no checkpoints and was lost is taken up by one that does, as
// a runner would: no step that it had on record runs again.
func TestLostRunIsTakenUpInAnotherMode(t *testing.T) {
	store := memstore.New()
	var ran atomic.Int32
	first := &mortal{Store: store}
	app := walk(t, open(t, first, &ledger.Options{Owner: "p"}), &ran, func(node string) error {
		if node == "c" {
			first.dead.Store(true)
			return errors.New("killed")
		}
		return nil
	}, nil, nil)
	if _, err := app.Run(t.Context(), "t", walkState{}, graph.RunOptions{Durability: graph.Exit}); err == nil {
		t.Fatal("it outlived its store")
	}
	if ran.Load() != 3 {
		t.Fatal(ran.Load())
	}
	app = walk(t, open(t, store, &ledger.Options{Owner: "p"}), &ran, nil, nil, nil)
	out, err := app.Resume(t.Context(), "t")
	if err != nil || fmt.Sprint(out.State.Log, ran.Load()) != "[a1 b2 c3 d4] 4" {
		t.Fatalf("output %v, error %v, ran.Load() %v", out, err, ran.Load())
	}
}

// A step that was lost before its record runs again under the key that it had,
// whatever the mode of who takes its run up: an actor tells by it that it has
// acted. A run that begins in its place has other keys.
func TestKeyOfALostStep(t *testing.T) {
	begin := func(store posthouse.Store, lost *mortal, keys *[]string) *graph.App[walkState] {
		if lost != nil {
			store = lost
		}
		g := graph.New[walkState]("keys")
		for _, n := range []string{"a", "b"} {
			g.Node(n, func(ctx context.Context, s *walkState) error {
				_, err := step.Do(ctx, "act", func(ctx context.Context) (int, error) {
					*keys = append(*keys, step.Key(ctx))
					if n == "b" && lost != nil {
						lost.dead.Store(true)
					}
					return 1, nil
				})
				return err
			})
		}
		g.Edge(graph.Start, "a")
		g.Edge("a", "b")
		g.Edge("b", graph.End)
		return compile(t, g, open(t, store, &ledger.Options{Owner: "p"}), nil)
	}
	for _, first := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		for _, second := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
			store := memstore.New()
			var before, after, anew []string
			lost := &mortal{Store: store}
			if _, err := begin(nil, lost, &before).Run(t.Context(), "t", walkState{}, graph.RunOptions{Durability: first}); err == nil {
				t.Fatal("it outlived its store")
			}
			app := begin(store, nil, &after)
			must.Get(app.Resume(t.Context(), "t", graph.RunOptions{Durability: second}))(t)
			wantList(t, "keys", after, before[1])
			must.Get(begin(store, nil, &anew).Run(t.Context(), "t", walkState{}, graph.RunOptions{Durability: second}))(t)
			for _, k := range anew {
				if k == before[0] || k == before[1] {
					t.Fatalf("%d, %d: another run has the key %s of one before it", first, second, k)
				}
			}
		}
	}
}

// Executions of a run that was given up, another having begun in its place, keep
// their names to themselves.
func TestNamesOfAGivenUpRun(t *testing.T) {
	store := memstore.New()
	lost := &mortal{Store: store}
	var ran atomic.Int32
	app := walk(t, open(t, lost, &ledger.Options{Owner: "p"}), &ran, func(node string) error {
		lost.dead.Store(node == "c")
		return nil
	}, nil, nil)
	if _, err := app.Run(t.Context(), "t", walkState{}, graph.RunOptions{Durability: graph.Exit}); err == nil {
		t.Fatal("it outlived its store")
	}
	l := open(t, store, &ledger.Options{Owner: "p"})
	must.Get(walk(t, l, &ran, nil, nil, nil).Run(t.Context(), "t", walkState{}))(t)
	seen := map[string]bool{}
	for e, err := range l.Log(t.Context(), "t", posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range e.Records {
			if r.Step == nil {
				continue
			}
			if number, _, _ := strings.Cut(r.Step.Task, "/"); seen[number] {
				t.Fatalf("two steps number %s", number)
			} else {
				seen[number] = true
			}
		}
	}
	if len(seen) != 7 {
		t.Fatal(seen)
	}
}

// A node leaves nothing in the next checkpoint if its own is refused. The next
// one holds the changes of earlier nodes without checkpoints.
func TestRefusedCheckpointLeavesNoTrace(t *testing.T) {
	led := open(t, memstore.New(), &ledger.Options{Rules: []posthouse.Rule{{
		Name: "last", Check: func(_ context.Context, p *posthouse.Proposal) error {
			c, err := p.Checkpoint()
			if err == nil && c != nil && c.State["Last"].Data != nil && string(c.State["Last"].Data) == `"c"` {
				err = errors.New("not c")
			}
			return err
		},
	}}})
	var ran atomic.Int32
	app := walk(t, led, &ran, nil, &graph.CompileOptions{Snapshots: graph.SnapshotNone}, map[string]graph.NodeOptions{"c": {Snapshots: graph.SnapshotAfter}})
	_, err := app.Run(t.Context(), "t", walkState{})
	must.Fail(t, err, posthouse.ErrInvalid)
	s, err := app.State(t.Context(), "t")
	if err != nil || fmt.Sprintf("%v %v %s", s.State, s.Next, s.Status) != "{[a1 b2] b map[a:1 b:2]} [c] failed" {
		t.Fatal(s, err)
	}
}
