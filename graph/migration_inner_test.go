package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// A study is a version of a graph in a graph in a graph: topic, then a subgraph
// with a subgraph that plans, pays and asks, and writes.
type study struct {
	outer, deep, plan, ask string // names of nodes
	life                   graph.Lifetime
	ownThread              bool
	inner                  []graph.Migration // with ownThread
	calls                  map[string]int
}

func firstStudy() study {
	return study{outer: "research", deep: "deep", plan: "plan", ask: "ask", calls: map[string]int{}}
}

func (v study) build() *graph.Graph[outerState] {
	deep := graph.New[innerState]("deep")
	deep.Node(v.plan, func(_ context.Context, s *innerState) error {
		v.calls["plan"]++
		s.Calls++
		s.Notes = append(s.Notes, v.plan)
		return nil
	})
	deep.Node(v.ask, func(ctx context.Context, s *innerState) error {
		v.calls["ask"]++
		paid, err := step.Do(ctx, "pay", func(context.Context) (int, error) { v.calls["pay"]++; return v.calls["pay"], nil })
		if err != nil {
			return err
		}
		d, err := gate.Ask[any](ctx, gate.Question{Name: "ok"})
		if err == nil {
			s.Notes = append(s.Notes, fmt.Sprint(v.ask, " ", string(d.Verdict), " ", paid))
		}
		return err
	})
	deep.Edge(graph.Start, v.plan)
	deep.Edge(v.plan, v.ask)
	deep.Edge(v.ask, graph.End)
	mid := graph.New[innerState]("research")
	graph.Subgraph(mid, v.deep, deep, &graph.SubOptions[innerState, innerState]{
		Out: func(s *innerState, in *innerState) error { s.Notes = append(s.Notes, in.Notes...); return nil },
	})
	mid.Node("write", visitInner("write"))
	mid.Edge(graph.Start, v.deep)
	mid.Edge(v.deep, "write")
	mid.Edge("write", graph.End)
	g := graph.New[outerState]("study")
	graph.Subgraph(g, v.outer, mid, &graph.SubOptions[outerState, innerState]{
		Out:      func(s *outerState, in *innerState) error { s.Log = append(s.Log, in.Notes...); return nil },
		Lifetime: v.life, OwnThread: v.ownThread, Migrations: v.inner,
	})
	g.Edge(graph.Start, v.outer)
	g.Edge(v.outer, graph.End)
	return g
}

func mismatches(t *testing.T, err error) (have []string) {
	t.Helper()
	var ch *graph.ChangedError
	if !errors.As(err, &ch) {
		t.Fatal(err)
	}
	for _, m := range ch.Mismatches {
		have = append(have, string(m.Kind)+" "+m.Name)
	}
	return have
}

// Nodes are renamed at three depths under a question that waits: it stays the
// same, what was paid for is not paid for again, and nothing is left over.
func TestMigrationInsideSubgraphs(t *testing.T) {
	l, v := newLedger(t), firstStudy()
	old := compile(t, v.build(), l, nil)
	out := must.Get(old.Run(t.Context(), "t", outerState{}))(t)
	v.outer, v.deep, v.plan, v.ask = "study", "deeper", "outline", "review"
	tail := must.Get(l.Thread(t.Context(), "t"))(t).Tail
	_, err := compile(t, v.build(), l, nil).Resume(t.Context(), "t")
	wantList(t, "mismatches", mismatches(t, err), "node research")
	if must.Get(l.Thread(t.Context(), "t"))(t).Tail != tail {
		t.Fatal("the thread was touched")
	}
	names := map[string]string{
		"research": "study", "research/deep": "deeper", "research/deep/plan": "outline", "research/deep/ask": "review",
	}
	a := compile(t, v.build(), l, &graph.CompileOptions{Migrations: []graph.Migration{{From: old.Fingerprint(), Nodes: names}}})
	parked := must.Get(a.Resume(t.Context(), "t"))(t)
	if len(parked.Waiting) != 1 || parked.Waiting[0].ID != out.Waiting[0].ID {
		t.Fatalf("waiting %+v", parked.Waiting)
	}
	if s := must.Get(graph.Within[innerState](t.Context(), l, parked.Checkpoint, "study/deeper"))(t); len(s.Notes) != 1 {
		t.Fatalf("inside %+v", s)
	}
	m := picture(t, a, graph.ProgressOptions{Checkpoint: out.Checkpoint})
	if !strings.Contains(m, "waiting") || !strings.Contains(m, "done") {
		t.Error(m)
	}
	decide(t, l, out.Waiting[0].ID, posthouse.Approve)
	done := must.Get(a.Resume(t.Context(), "t"))(t)
	wantList(t, "log", done.State.Log, "plan", "review approve 1", "write")
	if fmt.Sprint(v.calls) != "map[ask:2 pay:1 plan:1]" {
		t.Fatalf("calls %v", v.calls)
	}
	if c := must.Get(l.Get(t.Context(), done.Checkpoint))(t); len(c.Program) != 0 {
		t.Fatalf("left over: %v", slices.Sorted(maps.Keys(c.Program)))
	}
}

// Each thing inside a subgraph that does not fit is named by its path.
func TestAChangedSubgraphIsRefused(t *testing.T) {
	first := firstStudy()
	for name, c := range map[string]struct {
		change func(*study) *graph.Graph[outerState]
		want   []string
	}{
		"an inner node is gone": {func(v *study) *graph.Graph[outerState] { v.ask = "review"; return v.build() }, []string{"node research/deep/ask"}},
		"an inner subgraph is gone": {
			func(v *study) *graph.Graph[outerState] { v.deep = "deeper"; return v.build() }, []string{"node research/deep"},
		},
		"not kept":  {func(v *study) *graph.Graph[outerState] { v.life = graph.Unkept; return v.build() }, []string{"subgraph research"}},
		"elsewhere": {func(v *study) *graph.Graph[outerState] { v.ownThread = true; return v.build() }, []string{"subgraph research"}},
		"a plain node": {func(*study) *graph.Graph[outerState] {
			g := graph.New[outerState]("study")
			g.Node("research", func(context.Context, *outerState) error { return nil })
			g.Edge(graph.Start, "research")
			g.Edge("research", graph.End)
			return g
		}, []string{"subgraph research"}},
		"a part": {func(*study) *graph.Graph[outerState] {
			type other struct{ Notes, Calls string }
			deep := graph.New[other]("deep")
			deep.Node("ask", func(context.Context, *other) error { return nil })
			deep.Edge(graph.Start, "ask")
			deep.Edge("ask", graph.End)
			mid := graph.New[innerState]("research")
			graph.Subgraph(mid, "deep", deep, nil)
			mid.Edge(graph.Start, "deep")
			mid.Edge("deep", graph.End)
			g := graph.New[outerState]("study")
			graph.Subgraph(g, "research", mid, nil)
			g.Edge(graph.Start, "research")
			g.Edge("research", graph.End)
			return g
		}, []string{"part research/deep/Notes", "part research/deep/Calls"}},
	} {
		t.Run(name, func(t *testing.T) {
			l, v := newLedger(t), first
			v.calls = map[string]int{}
			must.Get(compile(t, v.build(), l, nil).Run(t.Context(), "t", outerState{}))(t)
			a := compile(t, c.change(&v), l, nil)
			tail := must.Get(l.Thread(t.Context(), "t"))(t).Tail
			_, err := a.Resume(t.Context(), "t")
			wantList(t, "mismatches", mismatches(t, err), c.want...)
			for f, err := range a.Check(t.Context(), nil) {
				if err != nil || f.Kind != graph.FindingFails || fmt.Sprint(mismatches(t, f.Err)) != fmt.Sprint(c.want) {
					t.Errorf("finding %+v, %v", f, err)
				}
			}
			if must.Get(l.Thread(t.Context(), "t"))(t).Tail != tail {
				t.Fatal("the thread was touched")
			}
			if _, err := a.Run(t.Context(), "t", outerState{}, graph.RunOptions{Withdraw: true}); err != nil { // an input starts over
				t.Fatal(err)
			}
		})
	}
}

// A subgraph in a thread of its own that a call has begun in cannot be brought
// back; one that is kept longer can go on.
func TestALifetimeThatChanged(t *testing.T) {
	l, v := newLedger(t), firstStudy()
	v.ownThread = true
	must.Get(compile(t, v.build(), l, nil).Run(t.Context(), "own", outerState{}))(t)
	v.ownThread = false
	out := must.Get(compile(t, v.build(), l, nil).Run(t.Context(), "t", outerState{}))(t)
	_, err := compile(t, v.build(), l, nil).Resume(t.Context(), "own")
	wantList(t, "mismatches", mismatches(t, err), "subgraph research")
	v.life = graph.PerThread
	a := compile(t, v.build(), l, nil)
	decide(t, l, out.Waiting[0].ID, posthouse.Approve)
	wantList(t, "log", must.Get(a.Resume(t.Context(), "t"))(t).State.Log, "plan", "ask approve 2", "write")
}

// A renamed subgraph in a thread of its own goes on in it, and is migrated there
// by migrations of its own.
func TestMigrationOfAnOwnThread(t *testing.T) {
	l, v := newLedger(t), firstStudy()
	v.ownThread = true
	old := compile(t, v.build(), l, nil)
	must.Get(old.Run(t.Context(), "t", outerState{}))(t)
	count := func() (n int) {
		for _, err := range l.Threads(t.Context(), posthouse.ThreadQuery{}) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	v.outer, v.ask, v.inner = "study", "review", []graph.Migration{{Nodes: map[string]string{"deep/ask": "review"}}}
	a := compile(t, v.build(), l, &graph.CompileOptions{Migrations: []graph.Migration{{Nodes: map[string]string{"research": "study"}}}})
	var open []posthouse.ID
	for g, err := range l.Gates(t.Context(), ledger.GateQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if g.Kind != posthouse.GateThread {
			open = append(open, g.ID)
		}
	}
	decide(t, l, open[0], posthouse.Approve)
	for _, p := range a.Programs()[1:] {
		for i, err := range l.Threads(t.Context(), posthouse.ThreadQuery{Prefix: "t."}) {
			if err != nil || p.Advance(t.Context(), i.Thread, posthouse.MainBranch) != nil {
				t.Fatal(err)
			}
		}
	}
	done := must.Get(a.Resume(t.Context(), "t"))(t)
	wantList(t, "log", done.State.Log, "plan", "review approve 1", "write")
	if count() != 2 || v.calls["pay"] != 1 {
		t.Fatalf("%d threads, calls %v", count(), v.calls)
	}
	v.ownThread = false
	_, err := v.build().Compile(l, nil)
	must.Fail(t, err, posthouse.ErrInvalid)
}

// Inputs sent to tasks in a subgraph are checked and migrated, and the results of
// completed tasks stay.
func TestMigrationOfInnerInputs(t *testing.T) {
	type link struct{ Href string }
	l, calls := newLedger(t), map[string]int{}
	around := func(outer string, sub *graph.Graph[trail]) *graph.Graph[trail] {
		g := graph.New[trail]("map")
		graph.Subgraph(g, outer, sub, &graph.SubOptions[trail, trail]{
			Out: func(s *trail, in *trail) error { s.Nodes = append(s.Nodes, in.Nodes...); return nil },
		})
		g.Edge(graph.Start, outer)
		g.Edge(outer, graph.End)
		return g
	}
	build := func(outer, task string, add func(*graph.Graph[trail])) *graph.Graph[trail] {
		sub := graph.New[trail]("sub")
		add(sub)
		sub.Node("begin", visit("begin"))
		sub.Edge(graph.Start, "begin")
		sub.Map("begin", func(*trail) []graph.Send {
			return []graph.Send{{Node: task, Input: job{"u1"}}, {Node: task, Input: job{"u2"}}}
		}, task)
		sub.Node("rest", visit("rest"))
		sub.Edge(task, "rest")
		sub.Edge("rest", graph.End)
		return around(outer, sub)
	}
	old := compile(t, build("fan", "fetch", func(g *graph.Graph[trail]) {
		graph.Task(g, "fetch", func(_ context.Context, in job, s *trail) error {
			calls[in.URL]++
			if in.URL == "u2" {
				return errors.New("down")
			}
			s.Nodes = append(s.Nodes, in.URL)
			return nil
		})
	}), l, &graph.CompileOptions{Concurrency: 1})
	if _, err := old.Run(t.Context(), "t", trail{}); err == nil {
		t.Fatal("did not fail")
	}
	count := tally(calls)
	get := func(g *graph.Graph[trail]) {
		graph.Task(g, "get", func(_ context.Context, in link, s *trail) error {
			count(in.Href)
			s.Nodes = append(s.Nodes, in.Href)
			return nil
		})
	}
	m := graph.Migration{From: old.Fingerprint(), Nodes: map[string]string{"fan": "spread", "fan/fetch": "get"}}
	_, err := compile(t, build("spread", "get", get), l, &graph.CompileOptions{Migrations: []graph.Migration{m}}).Resume(t.Context(), "t")
	if have := mismatches(t, err); !slices.Contains(have, "input spread/get") {
		t.Fatal(have)
	}
	m.Inputs = func(node string, in posthouse.Value) (posthouse.Value, error) {
		var j job
		if err := json.Unmarshal(in.Data, &j); err != nil || node != "spread/get" {
			return in, errors.Join(err, fmt.Errorf("of %s", node))
		}
		return posthouse.Encode(nil, link{j.URL})
	}
	a := compile(t, build("spread", "get", get), l, &graph.CompileOptions{Migrations: []graph.Migration{m}})
	wantList(t, "nodes", must.Get(a.Resume(t.Context(), "t"))(t).State.Nodes, "begin", "u1", "u2", "rest")
	if calls["u1"] != 1 || calls["u2"] != 2 {
		t.Fatalf("calls %v", calls)
	}
}

// keeper has a subgraph that lives per thread beside a node that fails.
func keeper(name string, broken *bool, life graph.Lifetime) *graph.Graph[outerState] {
	sub := graph.New[innerState]("sub")
	for _, n := range []string{"one", "two"} {
		sub.Node(n, func(_ context.Context, s *innerState) error { s.Calls++; s.Notes = append(s.Notes, n); return nil })
	}
	sub.Edge(graph.Start, "one")
	sub.Edge("one", "two")
	sub.Edge("two", graph.End)
	g := graph.New[outerState]("keeper")
	graph.Subgraph(g, name, sub, &graph.SubOptions[outerState, innerState]{
		Out:      func(s *outerState, in *innerState) error { s.Log = append(s.Log, fmt.Sprint(in.Calls)); return nil },
		Lifetime: life,
	})
	g.Node("beside", func(context.Context, *outerState) error {
		if *broken {
			return errors.New("down")
		}
		return nil
	})
	for _, n := range []string{name, "beside"} {
		g.Edge(graph.Start, n)
		g.Edge(n, graph.End)
	}
	return g
}

// The recorded result of a subgraph that completed beside a failure, and the
// state that it keeps from call to call, go by its new name.
func TestMigrationOfAKeptSubgraph(t *testing.T) {
	for _, life := range []graph.Lifetime{graph.PerThread, graph.PerCall} {
		for _, update := range []bool{false, true} {
			l, broken := newLedger(t), true
			if _, err := compile(t, keeper("old", &broken, life), l, nil).Run(t.Context(), "t", outerState{}); err == nil {
				t.Fatal("did not fail")
			}
			broken = false
			a := compile(t, keeper("new", &broken, life), l, &graph.CompileOptions{
				Migrations: []graph.Migration{{Nodes: map[string]string{"old": "new"}}},
			})
			if update {
				must.Get(a.Update(t.Context(), "t", func(s *outerState) { s.Topic = "x" }))(t)
			}
			out := must.Get(a.Resume(t.Context(), "t"))(t)
			wantList(t, "first", out.State.Log, "2")
			c := must.Get(l.Get(t.Context(), out.Checkpoint))(t)
			for name := range c.Program {
				if life == graph.PerCall || !strings.HasPrefix(name, "$sub/new/") {
					t.Errorf("%v, update %v: left over: %s", life, update, name)
				}
			}
			want := map[graph.Lifetime]string{graph.PerThread: "4", graph.PerCall: "2"}[life]
			wantList(t, "second", must.Get(a.Run(t.Context(), "t", outerState{}))(t).State.Log, "2", want)
		}
	}
}
