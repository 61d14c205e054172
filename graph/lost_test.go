package graph_test

import (
	"context"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// A run that is lost in the middle of a step, without checkpoints, may have
// acted: when it is taken up the step has the same key, and what another input
// or an update leads to has keys of its own.
func TestKeysBehindALostRun(t *testing.T) {
	var keys []string
	build := func(store posthouse.Store, dies *mortal) (*posthouse.Ledger, *graph.App[trail]) {
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
		l := open(t, store, &posthouse.Options{Owner: "p"})
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
			if _, err := a.Run(t.Context(), "t", trail{Go: "b"}, graph.RunOptions{OnBusy: graph.Interrupt, Durability: graph.Exit}); err != nil {
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
			t.Fatal(name, err)
		}
		if len(keys) < 2 || (keys[0] == keys[1]) != (name == "resume") {
			t.Errorf("%s: keys %q", name, keys)
		}
		must(app.Run(t.Context(), "t", trail{Go: "a"}, exit))(t)
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
func TestOwnThreadBehindALostRun(t *testing.T) {
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
		return compile(t, g, open(t, store, &posthouse.Options{Owner: "p"}), nil)
	}
	exit := graph.RunOptions{Durability: graph.Exit}
	if _, err := build(first, true).Run(t.Context(), "t", outerState{Topic: "late one"}, exit); err == nil {
		t.Fatal("it outlived its store")
	}
	out := must(build(store, false).Run(t.Context(), "t", outerState{Topic: "two"}, exit))(t)
	wantList(t, "log", out.State.Log, "two")
}
