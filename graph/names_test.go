package graph_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// stores runs a test on each store. The function that the test gets opens the store
// again.
func stores(t *testing.T, test func(t *testing.T, again func() *ledger.Ledger)) {
	t.Run("memory", func(t *testing.T) {
		s := memstore.New()
		test(t, func() *ledger.Ledger { return open(t, s, nil) })
	})
	t.Run("sqlite", func(t *testing.T) {
		s := must.Get(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), nil))(t)
		t.Cleanup(func() { s.Close() })
		test(t, func() *ledger.Ledger { return open(t, s, nil) })
	})
}

// besideAll has a node of each name beside the others: each takes a recorded
// step, is sent what it asks, and runs once.
func besideAll(names []string, did map[string]int) *graph.Graph[trail] {
	var mu sync.Mutex
	count := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		did[what]++
	}
	g := graph.New[trail]("names/of+people")
	for _, name := range names {
		g.Node(name, func(ctx context.Context, s *trail) error {
			if _, err := step.Do(ctx, "pay", func(ctx context.Context) (string, error) {
				count(step.Key(ctx))
				return name, nil
			}); err != nil {
				return err
			}
			if _, err := gate.Ask[any](ctx, gate.Question{Name: "ok", Text: name}); err != nil {
				return err
			}
			s.Nodes = append(s.Nodes, name)
			return nil
		})
		g.Edge(graph.Start, name)
		g.Edge(name, "the end/all")
	}
	g.Node("the end/all", visit("end"))
	g.Edge("the end/all", graph.End)
	return g
}

// TestNodesOfAnyName runs nodes with names that would read like those of others
// when they are joined: each has its own record, gate and place.
func TestNodesOfAnyName(t *testing.T) {
	names := []string{
		"a", "b", "a+b", "a%2Bb", "a#1", "a>1", "1/a", "a/b", "b/a", "50%", "user@example.com", "order#7", "日本", "..", " ", "a~", "Zoë", "Zoe\u0308", "$x\"<&>'",
		strings.Repeat("+", 200), strings.Repeat("日", 66),
	}
	names[18] = "x\"<&>'"
	stores(t, func(t *testing.T, again func() *ledger.Ledger) {
		did := map[string]int{}
		build := func() *graph.App[trail] { return compile(t, besideAll(names, did), again(), nil) }
		const thread = "tenant/42#日本 ~@"
		out := must.Get(build().Run(t.Context(), thread, trail{}))(t)
		if len(out.Waiting) != len(names) || len(did) != len(names) {
			t.Fatalf("%d gates, %d effects", len(out.Waiting), len(did))
		}
		for key := range did {
			if !strings.HasPrefix(key, "tenant%2F42%23日本 %7E%40/1/") {
				t.Errorf("the key of a step is %q", key)
			}
		}
		app, l := build(), again()
		f := must.Get(app.Fork(t.Context(), out.Checkpoint, nil, graph.ForkOptions{Branch: "what/if+#1 ~"}))(t)
		for _, branch := range []string{posthouse.MainBranch, f.Branch} {
			tasks := map[string]bool{}
			for g, err := range l.Gates(t.Context(), ledger.GateQuery{Thread: thread}) {
				if err != nil {
					t.Fatal(err)
				}
				if g.Branch == branch {
					tasks[g.Task] = true
					decide(t, l, g.ID, posthouse.Approve)
				}
			}
			if branch == posthouse.MainBranch && len(tasks) != len(names) {
				t.Errorf("%d executions asked %d questions", len(tasks), len(names))
			}
			out = must.Get(build().Resume(t.Context(), thread, graph.RunOptions{Branch: branch}))(t)
			if branch != posthouse.MainBranch && out.Status == posthouse.StatusWaiting { // a fork that asks what it resumes
				for _, g := range out.Waiting {
					decide(t, l, g.ID, posthouse.Approve)
				}
				out = must.Get(build().Resume(t.Context(), thread, graph.RunOptions{Branch: branch}))(t)
			}
			if out.Status != posthouse.StatusDone {
				t.Fatalf("branch %q: %s, %+v", branch, out.Status, out.Waiting)
			}
			ran := slices.Sorted(slices.Values(out.State.Nodes[:len(names)]))
			if want := slices.Sorted(slices.Values(names)); !slices.Equal(ran, want) {
				t.Errorf("branch %q ran %q", branch, ran)
			}
		}
		for key, n := range did {
			if n != 1 {
				t.Errorf("the step %s ran %d times", key, n)
			}
		}
		if list := history(t, app, thread, graph.HistoryOptions{Node: "the end/all", Branch: posthouse.MainBranch}); len(list) != 1 || list[0].Node != "the end%2Fall" {
			t.Errorf("%q is found %d times", "the end/all", len(list))
		}
		for name, want := range map[string]bool{"a": true, "a+b": true, "a#1": true, "c": false, "+": false, "1": false} {
			if list := history(t, app, thread, graph.HistoryOptions{Node: name, Branch: posthouse.MainBranch, Kind: posthouse.KindNode}); (len(list) > 0) != want {
				t.Errorf("node %q is found %d times", name, len(list))
			}
		}
		m := picture(t, app, graph.ProgressOptions{Thread: thread})
		if n := strings.Count(m, "class n"); n != 1 || strings.Contains(m, "next") || strings.Contains(m, "waiting") {
			t.Error(m)
		}
	})
}

// TestSubgraphsOfAnyName goes down paths with separators in their names, over
// restarts, forks and a deploy that renames all, in and out of threads of their
// own.
func TestSubgraphsOfAnyName(t *testing.T) {
	for _, v := range []study{
		{outer: "re/search", deep: "deep#1", plan: "plan+ask", ask: "as>k"},
		{outer: "a/b", deep: "b", plan: "a%2Fb", ask: "a+b"},
		{outer: "日本+", deep: "..", plan: "50%", ask: "#/>+%", life: graph.PerThread},
		{outer: "own/#>+", deep: "de/ep", plan: "pl an", ask: "user@example.com", ownThread: true},
		{outer: strings.Repeat("日", 66), deep: "deep", plan: "plan", ask: "ask", ownThread: true, life: graph.PerThread},
	} {
		t.Run(v.outer, func(t *testing.T) {
			stores(t, func(t *testing.T, again func() *ledger.Ledger) { walkStudy(t, v, again) })
		})
	}
}

func walkStudy(t *testing.T, v study, again func() *ledger.Ledger) {
	const thread = "order#7/日本"
	v.calls = map[string]int{}
	l := again()
	old := compile(t, v.build(), l, nil)
	out := must.Get(old.Run(t.Context(), thread, outerState{}))(t)
	path := posthouse.EscapeName(v.outer) + "/" + posthouse.EscapeName(v.deep)
	if s := must.Get(graph.Within[innerState](t.Context(), l, out.Checkpoint, path))(t); len(s.Notes) != 1 || s.Notes[0] != v.plan {
		t.Fatalf("inside %+v", s)
	}
	if own := must.Get(graph.ThreadWithin(t.Context(), l, out.Checkpoint, posthouse.EscapeName(v.outer)))(t); (own != thread) != v.ownThread || !strings.HasPrefix(own, thread) {
		t.Errorf("the subgraph is in thread %q", own)
	}
	node := must.Get(l.GetHeader(t.Context(), out.Checkpoint))(t).Node
	if want := posthouse.EscapeName(v.outer); !strings.HasPrefix(node, want) {
		t.Errorf("the checkpoint is by %q, want %q", node, want)
	}
	f := must.Get(old.Fork(t.Context(), out.Checkpoint, nil, graph.ForkOptions{Branch: "what/if"}))(t)

	app := compile(t, v.build(), again(), nil) // another process
	parked := must.Get(app.Resume(t.Context(), thread))(t)
	decideAll(t, l, parked.Waiting)
	answerAll(t, l)
	done := must.Get(app.Resume(t.Context(), thread))(t)
	wantList(t, "log", done.State.Log, v.plan, v.ask+" approve 1", "write")
	if fmt.Sprint(v.calls["plan"], v.calls["pay"]) != "1 1" {
		t.Fatalf("calls %v", v.calls)
	}

	was, now := v, v
	now.outer, now.deep, now.plan, now.ask = "st/udy", "dee+per", "out#line", "re>view"
	at := posthouse.EscapeName(was.outer)
	deep := posthouse.EscapeName(was.deep)
	inner := map[string]string{deep: now.deep, deep + "/" + posthouse.EscapeName(was.plan): now.plan, deep + "/" + posthouse.EscapeName(was.ask): now.ask}
	all := map[string]string{at: now.outer}
	if now.ownThread {
		now.inner = []graph.Migration{{Nodes: inner}}
	} else {
		for p, name := range inner {
			all[at+"/"+p] = name
		}
	}
	next := compile(t, now.build(), again(), &graph.CompileOptions{Migrations: []graph.Migration{{From: old.Fingerprint(), Nodes: all}}})
	on := graph.RunOptions{Branch: f.Branch}
	parked = must.Get(next.Resume(t.Context(), thread, on))(t)
	if parked.Status == posthouse.StatusWaiting {
		answerAll(t, l)
		parked = must.Get(next.Resume(t.Context(), thread, on))(t)
	}
	if parked.Status != posthouse.StatusDone || parked.State.Log[len(parked.State.Log)-2] != now.ask+" approve 1" {
		t.Fatalf("%s: parked.State.Log %q", parked.Status, parked.State.Log)
	}
	if v.calls["pay"] != 1 {
		t.Fatalf("calls %v", v.calls)
	}
	if v.life == graph.PerCall {
		if c := must.Get(l.Get(t.Context(), parked.Checkpoint))(t); len(c.Program) != 0 {
			t.Fatalf("left over: %v", slices.Sorted(maps.Keys(c.Program)))
		}
	}
}

func decideAll(t *testing.T, l *ledger.Ledger, gates []posthouse.Gate) {
	t.Helper()
	for _, g := range gates {
		if g.Kind != posthouse.GateThread {
			decide(t, l, g.ID, posthouse.Approve)
		}
	}
}

// TestNamesOfNodesAreChecked says what is no name.
func TestNamesOfNodesAreChecked(t *testing.T) {
	for _, name := range []string{"", "a\nb", "\x1b[31m", "\u0085", "caf\xe9", strings.Repeat("x", 201), "$mine"} {
		g := graph.New[trail]("g")
		g.Node(name, visit("x"))
		g.Edge(graph.Start, name)
		g.Edge(name, graph.End)
		if _, err := g.Compile(newLedger(t), nil); err == nil {
			t.Errorf("a node may be called %q", name)
		}
	}
}
