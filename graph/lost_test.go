package graph_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// A run that is lost in the middle of a step, without checkpoints, may have
// acted: when it is taken up the step has the same key, and what another input
// or an update leads to has keys of its own.
func TestKeysAfterALostRun(t *testing.T) {
	var keys []string
	build := func(store posthouse.Store, dies *mortal) (*ledger.Ledger, *graph.App[trail]) {
		g := graph.New[trail]("g")
		for _, n := range []string{"a", "b"} {
			g.Node(n, visit(n))
		}
		g.Node("pay", func(ctx context.Context, s *trail) error {
			_, err := step.Do(ctx, "charge", func(ctx context.Context) (int, error) {
				keys = append(keys, step.Key(ctx))
				if dies != nil {
					dies.dead.Store(true)
				}
				return 1, nil
			})
			return err
		})
		g.Route(graph.Start, func(s *trail) string { return s.Go }, "a", "b", "pay")
		g.Edge("a", "b")
		g.Edge("b", "pay")
		g.Edge("pay", graph.End)
		l := open(t, store, &ledger.Options{Owner: "p"})
		return l, compile(t, g, l, nil)
	}
	exit := graph.RunOptions{Durability: graph.Exit}
	for name, goOn := range map[string]func(*graph.App[trail]) error{
		"resume": func(a *graph.App[trail]) error { _, err := a.Resume(t.Context(), "t", exit); return err },
		"input": func(a *graph.App[trail]) error {
			_, err := a.Run(t.Context(), "t", trail{Go: "b"}, exit)
			return err
		},
		"cancelled": func(a *graph.App[trail]) error {
			if _, err := a.Run(t.Context(), "t", trail{Go: "b"}, graph.RunOptions{OnBusy: runs.Interrupt, Durability: graph.Exit}); err != nil {
				return err
			}
			_, err := a.Run(t.Context(), "t", trail{Go: "pay"})
			return err
		},
		"update": func(a *graph.App[trail]) error {
			if _, err := a.Update(t.Context(), "t", nil, graph.UpdateOptions{Goto: "b"}); err != nil {
				return err
			}
			_, err := a.Resume(t.Context(), "t", exit)
			return err
		},
	} {
		keys = nil
		store := memstore.New()
		first := &mortal{Store: store}
		_, app := build(first, first)
		if _, err := app.Run(t.Context(), "t", trail{Go: "a"}, exit); err == nil {
			t.Fatal("it outlived its store")
		}
		_, app = build(store, nil)
		if err := goOn(app); err != nil {
			t.Fatalf("name %v, error %v", name, err)
		}
		if len(keys) < 2 || (keys[0] == keys[1]) != (name == "resume") {
			t.Errorf("%s: keys %q", name, keys)
		}
		must.Get(app.Run(t.Context(), "t", trail{Go: "a"}, exit))(t)
		seen := map[string]bool{}
		for _, k := range keys[1:] {
			if seen[k] {
				t.Errorf("%s: keys %q", name, keys)
			}
			seen[k] = true
		}
	}
}

// Nor does a subgraph in a thread of its own get what a lost call had begun.
func TestOwnThreadAfterALostRun(t *testing.T) {
	store := memstore.New()
	first := &mortal{Store: store}
	build := func(store posthouse.Store, dies bool) *graph.App[outerState] {
		sub := oneInner("echo", func(_ context.Context, s *innerState) error {
			s.Notes = append(s.Notes, s.Topic)
			return nil
		})
		g := graph.New[outerState]("outer")
		g.Node("first", func(context.Context, *outerState) error { return nil })
		graph.Subgraph(g, "sub", sub, &graph.SubOptions[outerState, innerState]{
			In: func(s *outerState) innerState { return innerState{Topic: s.Topic} },
			Out: func(s *outerState, in *innerState) error {
				first.dead.Store(dies)
				s.Log = append(s.Log, in.Notes...)
				return nil
			}, OwnThread: true,
		})
		g.Route(graph.Start, func(s *outerState) string {
			if strings.HasPrefix(s.Topic, "late") {
				return "first"
			}
			return "sub"
		}, "first", "sub")
		g.Edge("first", "sub")
		g.Edge("sub", graph.End)
		return compile(t, g, open(t, store, &ledger.Options{Owner: "p"}), nil)
	}
	exit := graph.RunOptions{Durability: graph.Exit}
	if _, err := build(first, true).Run(t.Context(), "t", outerState{Topic: "late one"}, exit); err == nil {
		t.Fatal("it outlived its store")
	}
	out := must.Get(build(store, false).Run(t.Context(), "t", outerState{Topic: "two"}, exit))(t)
	wantList(t, "log", out.State.Log, "two")
}

// A deploy that renames nodes after a lost run changes no key of effects that the
// run may have made, nor in subgraphs: recorded steps do not run again, and steps
// that it was about to run get the same keys.
func TestKeysOfRenamedNodesAfterALostRun(t *testing.T) {
	for _, durability := range []graph.Durability{graph.Exit, graph.Sync} {
		store := memstore.New()
		first := &mortal{Store: store}
		var told []string
		build := func(store posthouse.Store, die string, name func(string) string, ms ...graph.Migration) *graph.App[trail] {
			does := func(what string) func(context.Context, *trail) error {
				return func(ctx context.Context, s *trail) error {
					s.Nodes = append(s.Nodes, what)
					_, err := step.Do(ctx, "act", func(ctx context.Context) (int, error) {
						told = append(told, what+" "+step.Key(ctx))
						if what == die {
							first.dead.Store(true)
						}
						return 1, nil
					})
					return err
				}
			}
			sub := graph.New[trail]("sub")
			g := graph.New[trail]("g")
			from := map[*graph.Graph[trail]]string{g: graph.Start, sub: graph.Start}
			add := func(g *graph.Graph[trail], what string) {
				g.Node(name(what), does(what), graph.NodeOptions{Snapshots: graph.SnapshotNone})
				g.Edge(from[g], name(what))
				from[g] = name(what)
			}
			add(g, "one")
			add(g, "two")
			for _, what := range []string{"in", "out"} {
				add(sub, what)
			}
			if len(ms) > 0 {
				add(sub, "new")
			}
			sub.Edge(from[sub], graph.End)
			graph.Subgraph(g, name("sub"), sub, &graph.SubOptions[trail, trail]{
				Out: func(s, in *trail) error { s.Nodes = append(s.Nodes, in.Nodes...); return nil },
			})
			g.Edge(from[g], name("sub"))
			g.Edge(name("sub"), graph.End)
			return compile(t, g, open(t, store, &ledger.Options{Owner: "p"}), &graph.CompileOptions{Migrations: ms})
		}
		old := build(first, "out", func(s string) string { return s })
		if _, err := old.Run(t.Context(), "t", trail{}, graph.RunOptions{Durability: durability}); err == nil {
			t.Fatal("it outlived its store")
		}
		second := map[string]string{"one": "uno", "two": "due", "sub": "sotto", "in": "out", "out": "fuori", "new": "in"}
		ms := []graph.Migration{{From: old.Fingerprint(), Nodes: map[string]string{
			"one": "uno", "two": "due", "sub": "sotto", "sub/in": "out", "sub/out": "fuori",
		}}}
		out := must.Get(build(store, "", func(s string) string { return second[s] }, ms...).Resume(t.Context(), "t"))(t)
		wantList(t, "nodes", out.State.Nodes, "one", "two", "in", "out", "new")
		if len(told) != 6 || told[3] != told[4] {
			t.Errorf("%v: told %q", durability, told)
		}
	}
}

// A new node that has the name which another had gets nothing of it, though it
// runs where a lost run was.
func TestNewNodeWithAnOldNameAfterALostRun(t *testing.T) {
	store := memstore.New()
	first := &mortal{Store: store}
	var told []string
	acts := func(what string) func(context.Context, *trail) error {
		return func(ctx context.Context, s *trail) error {
			s.N++
			_, err := step.Do(ctx, "act", func(context.Context) (int, error) { told = append(told, what); return 1, nil })
			return err
		}
	}
	g := graph.New[trail]("g")
	g.Node("a", acts("old"))
	g.Node("die", func(context.Context, *trail) error { first.dead.Store(true); return nil })
	g.Edge(graph.Start, "a")
	g.Route("a", func(s *trail) string {
		if s.N < 2 {
			return "a"
		}
		return "die"
	}, "a", "die")
	g.Edge("die", graph.End)
	old := compile(t, g, open(t, first, &ledger.Options{Owner: "p"}), nil)
	if _, err := old.Run(t.Context(), "t", trail{}, graph.RunOptions{Durability: graph.Exit}); err == nil {
		t.Fatal("it outlived its store")
	}
	g = graph.New[trail]("g")
	g.Node("z", acts("renamed"))
	g.Node("a", acts("new"))
	g.Edge(graph.Start, "z")
	g.Edge("z", "a")
	g.Edge("a", graph.End)
	app := compile(t, g, open(t, store, &ledger.Options{Owner: "p"}), &graph.CompileOptions{
		Migrations: []graph.Migration{{From: old.Fingerprint(), Nodes: map[string]string{"a": "z"}}},
	})
	must.Get(app.Resume(t.Context(), "t"))(t)
	wantList(t, "acted", told, "old", "old", "new")
}

// A parting store tells when a task is on record, before it dies.
type parting struct {
	mortal
	done chan struct{}
}

func (p *parting) Append(ctx context.Context, b *posthouse.Batch) error {
	recs, err := b.Entry.Records()
	if err == nil {
		err = p.mortal.Append(ctx, b)
	}
	for _, r := range recs {
		if err == nil && r.Step != nil && r.Step.Name == "$done" {
			close(p.done)
		}
	}
	return err
}

// The target of a lost run's task is found by its present name, in a subgraph
// too.
func TestResultsOfALostRunLeadToRenamedNodes(t *testing.T) {
	for _, inside := range []bool{false, true} {
		store := memstore.New()
		first := &parting{mortal{Store: store}, make(chan struct{})}
		var ran [3]atomic.Int32
		build := func(store posthouse.Store, die bool, after string, ms ...graph.Migration) *graph.App[trail] {
			g := graph.New[trail]("g")
			for i, n := range []string{"first", "left", "right"} {
				g.Node(n, func(_ context.Context, s *trail) error {
					if ran[i].Add(1); n == "right" && die {
						<-first.done
						first.dead.Store(true)
					}
					s.Nodes = append(s.Nodes, n)
					return nil
				})
			}
			g.Node(after, visit("after"))
			g.Edge(graph.Start, "first")
			for _, n := range []string{"left", "right"} {
				g.Edge("first", n)
				g.Edge(n, after)
			}
			g.Edge(after, graph.End)
			if inside {
				sub := g
				g = graph.New[trail]("outer")
				graph.Subgraph(g, "sub", sub, &graph.SubOptions[trail, trail]{Out: func(s, in *trail) error { *s = *in; return nil }})
				g.Edge(graph.Start, "sub")
				g.Edge("sub", graph.End)
			}
			return compile(t, g, open(t, store, &ledger.Options{Owner: "p"}), &graph.CompileOptions{Migrations: ms})
		}
		old := build(first, true, "after")
		if _, err := old.Run(t.Context(), "t", trail{}, graph.RunOptions{Durability: graph.Exit}); err == nil {
			t.Fatal("it outlived its store")
		}
		path := map[bool]string{false: "after", true: "sub/after"}[inside]
		app := build(store, false, "later", graph.Migration{From: old.Fingerprint(), Nodes: map[string]string{path: "later"}})
		wantList(t, "nodes", must.Get(app.Resume(t.Context(), "t"))(t).State.Nodes, "first", "left", "right", "after")
		if left, right := ran[1].Load(), ran[2].Load(); left != 1 || right != 2 {
			t.Errorf("inside %v: left ran %d times, right %d times", inside, left, right)
		}
	}
}

// After a lost run and a renaming, an update still finds which tasks of the step
// completed.
func TestUpdateAfterRenamedNodes(t *testing.T) {
	store := memstore.New()
	var ran atomic.Int32
	build := func(store posthouse.Store, left string, dies func(node string), ms ...graph.Migration) *graph.App[trail] {
		g := graph.New[trail]("g")
		for _, n := range []string{"first", left, "right"} {
			g.Node(n, func(_ context.Context, s *trail) error {
				s.Nodes = append(s.Nodes, n)
				if n == left {
					ran.Add(1)
				}
				dies(n)
				return nil
			})
		}
		g.Edge(graph.Start, "first")
		for _, n := range []string{left, "right"} {
			g.Edge("first", n)
			g.Edge(n, graph.End)
		}
		return compile(t, g, open(t, store, &ledger.Options{Owner: "p"}), &graph.CompileOptions{Migrations: ms})
	}
	first := &mortal{Store: store}
	old := build(first, "left", func(n string) {
		if n == "first" {
			first.dead.Store(true)
		}
	})
	if _, err := old.Run(t.Context(), "t", trail{}, graph.RunOptions{Durability: graph.Exit}); err == nil {
		t.Fatal("it outlived its store")
	}
	ran.Store(0)
	m := graph.Migration{From: old.Fingerprint(), Nodes: map[string]string{"left": "links"}}
	second := &parting{mortal{Store: store}, make(chan struct{})}
	app := build(second, "links", func(n string) {
		if n == "right" {
			<-second.done
			second.dead.Store(true)
		}
	}, m)
	if _, err := app.Resume(t.Context(), "t"); err == nil {
		t.Fatal("it outlived its store")
	}
	app = build(store, "links", func(string) {}, m)
	wantList(t, "completed", must.Get(app.Update(t.Context(), "t", nil))(t).State.Nodes, "first", "links")
	out := must.Get(app.Resume(t.Context(), "t"))(t)
	wantList(t, "nodes", out.State.Nodes, "first", "links", "right")
	if ran.Load() != 1 {
		t.Errorf("what completed ran %d times", ran.Load())
	}
}
