package graph_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A branch that has the name of a deleted one is another one: its steps, and those of the threads
// that it calls, have keys of their own, and its effects are listed beside those of the old one.
func TestStepKeysOfABranchWithADeletedName(t *testing.T) {
	ctx := t.Context()
	for name, store := range map[string]posthouse.Store{
		"memory": memstore.New(),
		"sqlite": must.Get(sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), nil))(t),
	} {
		t.Run(name, func(t *testing.T) {
			led := open(t, store, nil)
			var keys []string
			pay := func(ctx context.Context) error {
				_, err := step.DoWith(ctx, "pay", step.Options{Effect: posthouse.EffectExternal}, func(ctx context.Context) (string, error) {
					keys = append(keys, step.Key(ctx))
					return "", nil
				})
				return err
			}
			sub := graph.New[innerState]("sub")
			sub.Node("pay", func(ctx context.Context, _ *innerState) error { return pay(ctx) })
			sub.Edge(graph.Start, "pay")
			sub.Edge("pay", graph.End)
			g := graph.New[outerState]("outer")
			g.Node("begin", func(context.Context, *outerState) error { return nil })
			g.Node("pay", func(ctx context.Context, _ *outerState) error { return pay(ctx) })
			graph.Subgraph(g, "call", sub, &graph.SubOptions[outerState, innerState]{
				In: func(*outerState) innerState { return innerState{} }, OwnThread: true,
			})
			g.Edge(graph.Start, "begin")
			g.Edge("begin", "pay")
			g.Edge("pay", "call")
			g.Edge("call", graph.End)
			app := compile(t, g, led, nil)
			remove := func(branch string) {
				t.Helper()
				for { // from its head to its first checkpoint
					info, err := led.Thread(ctx, "t")
					if err != nil {
						return // the last branch
					}
					b, ok := info.Branch(branch)
					if !ok {
						return
					}
					must.Get(retain.Delete(ctx, led, b.Head, nil))(t)
				}
			}

			must.Get(app.Run(ctx, "t", outerState{}))(t)
			begun := must.Get(app.State(ctx, "t", graph.StateOptions{Node: "begin"}))(t)
			for range 3 {
				must.Get(app.Replay(ctx, begun.ID))(t)
				remove("fork-1")
			}
			f := must.Get(app.Replay(ctx, begun.ID))(t)
			if f.Branch != "fork-1" {
				t.Fatalf("the branch is %s", f.Branch)
			}
			if uses := must.Get(ledger.Effects(ctx, led, "t"))(t); len(uses) != 5 {
				t.Errorf("%d effects are listed, want 5: %+v", len(uses), uses)
			}
			remove("fork-1")
			remove("main")
			must.Get(app.Run(ctx, "t", outerState{}))(t)
			must.Get(retain.DeleteThread(ctx, led, "t", nil))(t)
			must.Get(app.Run(ctx, "t", outerState{}))(t)

			var seen []string
			for i, key := range keys {
				if slices.Contains(seen, key) {
					t.Errorf("the step's key is that of another branch: %s", key)
				}
				seen = append(seen, key)
				if i == 2 && key != "t~fork-1/2/pay/pay/0" {
					t.Errorf("the key of the first fork has changed: %s", key)
				}
			}
			if len(keys) != 14 {
				t.Errorf("%d payments, want 14: %s", len(keys), strings.Join(keys, "\n"))
			}
			again := must.Get(led.Thread(ctx, "t"))(t)
			if fmt.Sprint(again.Ended, again.Births) != "0 []" {
				t.Errorf("a thread that begins again knows of branches before it: %d, %v", again.Ended, again.Births)
			}
		})
	}
}
