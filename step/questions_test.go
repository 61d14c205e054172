package step_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

type asked struct {
	Names []string `posthouse:"append"`
}

func approved(ctx context.Context, name string) (string, error) {
	_, err := gate.Ask[string](ctx, gate.Question{Name: name})
	return name, err
}

// questioners are programs that ask a, b and c beside each other. Each begins its run on thread t.
func questioners(runs *atomic.Int64, fails bool) map[string]func(t *testing.T, l *ledger.Ledger) []posthouse.Program {
	tool := func(context.Context) (string, error) { runs.Add(1); return "", errBoom }
	inGroup := func(member func(context.Context, string) (string, error)) func(context.Context) error {
		return func(ctx context.Context) error {
			g := step.NewGroup(ctx, nil)
			if fails {
				step.Go(g, "tool", tool)
			}
			for _, name := range []string{"a", "b", "c"} {
				step.Go(g, name, func(ctx context.Context) (string, error) { return member(ctx, name) })
			}
			return g.Wait()
		}
	}
	node := func(fn func(context.Context) error) func(t *testing.T, l *ledger.Ledger) []posthouse.Program {
		return func(t *testing.T, l *ledger.Ledger) []posthouse.Program {
			g := graph.New[asked]("asks")
			g.Node("n", func(ctx context.Context, _ *asked) error { return fn(ctx) })
			g.Edge(graph.Start, "n")
			g.Edge("n", graph.End)
			app := must.Get(g.Compile(l, nil))(t)
			must.Get(app.Run(t.Context(), "t", asked{}))(t)
			return app.Programs()
		}
	}
	doAround := func(ctx context.Context, name string) (string, error) {
		return step.Do(ctx, "around", func(ctx context.Context) (string, error) { return approved(ctx, name) })
	}
	return map[string]func(t *testing.T, l *ledger.Ledger) []posthouse.Program{
		"group in a node":          node(inGroup(approved)),
		"step around the question": node(inGroup(doAround)),
		"map of steps in a node": node(func(ctx context.Context) error {
			items := []string{"a", "b", "c"}
			if fails {
				items = append(items, "tool")
			}
			_, err := step.Map(ctx, "ask", items, func(ctx context.Context, name string) (string, error) {
				if name == "tool" {
					return tool(ctx)
				}
				return approved(ctx, name)
			})
			return err
		}),
		"tasks of a map": func(t *testing.T, l *ledger.Ledger) []posthouse.Program {
			g := graph.New[asked]("asks")
			graph.Task(g, "ask", func(ctx context.Context, name string, out *asked) error {
				if name == "tool" {
					_, err := tool(ctx)
					return err
				}
				_, err := approved(ctx, name)
				out.Names = append(out.Names, name)
				return err
			})
			g.Map(graph.Start, func(*asked) (sends []graph.Send) {
				for _, name := range []string{"a", "b", "c"} {
					sends = append(sends, graph.Send{Node: "ask", Input: name})
				}
				if fails {
					sends = append(sends, graph.Send{Node: "ask", Input: "tool"})
				}
				return sends
			}, "ask")
			g.Edge("ask", graph.End)
			app := must.Get(g.Compile(l, nil))(t)
			_, err := app.Run(t.Context(), "t", asked{})
			if err != nil && !fails {
				t.Fatal(err)
			}
			return app.Programs()
		},
		"group in a flow": func(t *testing.T, l *ledger.Ledger) []posthouse.Program {
			app := must.Get(flow.New("asks", func(ctx context.Context, _ string) (string, error) { return "", inGroup(approved)(ctx) }).Open(l, nil))(t)
			must.Get(app.Run(t.Context(), "t", ""))(t)
			return []posthouse.Program{app}
		},
	}
}

// TestOneOfSeveralQuestionsIsAnswered: the thread waits for the others and says so, whatever asks
// them. A tool that fails beside them is not run without a reason.
func TestOneOfSeveralQuestionsIsAnswered(t *testing.T) {
	for _, fails := range []bool{false, true} {
		for _, kind := range []string{"memory", "sqlite"} {
			var runs atomic.Int64
			for name, begin := range questioners(&runs, fails) {
				if fails && name == "tasks of a map" {
					continue // a task that fails for good fails its step
				}
				t.Run(fmt.Sprint(name, ", ", kind, ", with a tool that fails: ", fails), func(t *testing.T) {
					runs.Store(0)
					s := posthouse.Store(memstore.New())
					if kind == "sqlite" {
						db := must.Get(sqlitestore.Open(t.Context(), t.TempDir()+"/p.db", nil))(t)
						t.Cleanup(func() { db.Close() })
						s = db
					}
					wantWaits(t, s, begin, &runs, fails)
				})
			}
		}
	}
}

func wantWaits(t *testing.T, s posthouse.Store, begin func(*testing.T, *ledger.Ledger) []posthouse.Program, runs *atomic.Int64, fails bool) {
	ctx, l := t.Context(), must.Get(ledger.Open(s, &ledger.Options{Validate: gate.Validator()}))(t)
	t.Cleanup(func() { l.Close() })
	r := must.Get(runner.New(l, &runner.Options{Programs: begin(t, l)}))(t)
	for left := 3; left > 0; left-- {
		var open []*posthouse.Gate
		for g, err := range l.Gates(ctx, ledger.GateQuery{}) {
			must.Do(t, err)
			open = append(open, g)
		}
		info := must.Get(l.Thread(ctx, "t"))(t)
		if len(open) != left || info.Status != posthouse.StatusWaiting || info.Runnable() {
			t.Fatalf("%d questions are open, want %d, and the thread is %s", len(open), left, info.Status)
		}
		listed := 0
		for _, err := range l.Threads(ctx, posthouse.ThreadQuery{Status: posthouse.StatusWaiting}) {
			must.Do(t, err)
			listed++
		}
		if listed != 1 {
			t.Errorf("a list of what waits has %d threads", listed)
		}
		before := runs.Load()
		for range 2 { // the second has nothing to do
			must.Do(t, r.Settle(ctx))
		}
		if runs.Load() != before {
			t.Errorf("a tool ran %d times although nothing was answered", runs.Load()-before)
		}
		must.Get(l.Decide(ctx, open[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
		for range 2 {
			must.Do(t, r.Settle(ctx))
		}
		if n := runs.Load() - before; n > 1 {
			t.Errorf("a tool ran %d times for one answer", n)
		}
	}
	info := must.Get(l.Thread(ctx, "t"))(t)
	if want := map[bool]posthouse.Status{false: posthouse.StatusDone, true: posthouse.StatusFailed}[fails]; info.Status != want {
		t.Errorf("at the end the thread is %s, want %s", info.Status, want)
	}
}
