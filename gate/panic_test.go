package gate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// loud has an encoding that panics.
type loud struct{}

func (loud) MarshalJSON() ([]byte, error) { panic("on the floor") }

// TestPanicsAreTheSameEverywhere: a panic of a step and of a node fails the run by the node's name, with Timeout,
// Retry and Group or without. One of an effect's function leaves its outcome unknown, whatever it
// panicked with: people are asked.
func TestPanicsAreTheSameEverywhere(t *testing.T) {
	stores := map[string]func(t *testing.T) posthouse.Store{
		"memory": func(*testing.T) posthouse.Store { return memstore.New() },
		"sqlite": func(t *testing.T) posthouse.Store {
			return must.Get(sqlitestore.Open(t.Context(), t.TempDir()+"/p.db", nil))(t)
		},
	}
	retry := posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}
	ways := map[string]struct {
		step  step.Options
		node  graph.NodeOptions
		group bool
	}{
		"plain":   {},
		"timeout": {step: step.Options{Timeout: time.Minute}, node: graph.NodeOptions{Timeout: time.Minute}},
		"retry":   {step: step.Options{Retry: retry}, node: graph.NodeOptions{Retry: retry}},
		"both":    {step: step.Options{Timeout: time.Minute, Retry: retry}, node: graph.NodeOptions{Timeout: time.Minute, Retry: retry}},
		"group":   {group: true},
	}
	values := map[string]any{
		"a text":   "on the floor",
		"an error": errors.New("on the floor"),
		"not done": gate.NotDone(errors.New("on the floor")),
	}
	for store, opened := range stores {
		for way, w := range ways {
			for what, value := range values {
				run := func(ctx context.Context, fn func(context.Context) (int, error)) error {
					if !w.group {
						_, err := step.DoWith(ctx, "s", w.step, fn)
						return err
					}
					g := step.NewGroup(ctx, nil)
					step.Go(g, "s", fn)
					return g.Wait()
				}
				act := func(ctx context.Context, fn func(context.Context, int) (int, error)) error {
					grant, err := gate.Propose(ctx, gate.Question{Name: "pay"}, 40)
					if err != nil {
						return err
					}
					_, err = gate.Act(ctx, "pay", grant, fn)
					return err
				}
				tried := 0
				for kind, node := range map[string]func(ctx context.Context) error{
					"node": func(context.Context) error { tried++; panic(value) },
					"step": func(ctx context.Context) error {
						return run(ctx, func(context.Context) (int, error) { tried++; panic(value) })
					},
					"act": func(ctx context.Context) error {
						return act(ctx, func(context.Context, int) (int, error) { tried++; panic(value) })
					},
				} {
					t.Run(strings.Join([]string{store, kind, way, what}, "/"), func(t *testing.T) {
						tried = 0
						opts := w.node
						if kind == "step" {
							opts = graph.NodeOptions{}
						}
						p := newPanicking(t, opened(t), node, opts)
						if kind == "act" {
							p.asksWhatHappened(t)
						} else {
							p.failsByName(t)
						}
						if tried != 1 {
							t.Errorf("it ran %d times", tried)
						}
					})
				}
			}
		}
	}
}

// TestResultWhoseEncodingPanics: an effect with a result that cannot be encoded has happened.
func TestResultWhoseEncodingPanics(t *testing.T) {
	p := newPanicking(t, memstore.New(), func(ctx context.Context) error {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay"}, 40)
		if err != nil {
			return err
		}
		_, err = gate.Act(ctx, "pay", grant, func(context.Context, int) (loud, error) { return loud{}, nil })
		return err
	}, graph.NodeOptions{})
	p.asksWhatHappened(t)
}

// A panicking is a graph of one node.
type panicking struct {
	led *ledger.Ledger
	app *graph.App[edit]
}

func newPanicking(t *testing.T, store posthouse.Store, node func(context.Context) error, o graph.NodeOptions) *panicking {
	l := must.Get(ledger.Open(store, &ledger.Options{Validate: gate.Validator()}))(t)
	t.Cleanup(func() { _ = l.Close() })
	g := graph.New[edit]("g")
	g.Node("the node", func(ctx context.Context, _ *edit) error { return node(ctx) }, o)
	g.Edge(graph.Start, "the node")
	g.Edge("the node", graph.End)
	return &panicking{l, must.Get(g.Compile(l, nil))(t)}
}

// failsByName runs the graph, which fails with the panic.
func (p *panicking) failsByName(t *testing.T) {
	t.Helper()
	_, err := p.app.Run(t.Context(), "t", edit{})
	var node *graph.NodeError
	var panicked *engine.PanicError
	if !errors.As(err, &node) || node.Node != "the node" || !errors.As(err, &panicked) || !strings.Contains(fmt.Sprint(err), "on the floor") {
		t.Errorf("it ends with %v", err)
	}
	s := must.Get(p.app.State(t.Context(), "t"))(t)
	if s.Status != posthouse.StatusFailed || !strings.Contains(s.Error, "panic: ") || !strings.Contains(s.Error, "panic_test.go") {
		t.Errorf("the head is %s: %s", s.Status, s.Error)
	}
}

// asksWhatHappened runs the graph and approves its effect, and people are asked how that ended.
func (p *panicking) asksWhatHappened(t *testing.T) {
	t.Helper()
	out := must.Get(p.app.Run(t.Context(), "t", edit{}))(t)
	if len(out.Waiting) != 1 {
		t.Fatalf("it is %s and waits for %v", out.Status, out.Waiting)
	}
	must.Get(p.led.Decide(t.Context(), out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	out = must.Get(p.app.Resume(t.Context(), "t"))(t)
	if len(out.Waiting) != 1 || out.Waiting[0].Kind != posthouse.GateOutcome || !strings.Contains(out.Waiting[0].Note, "on the floor") {
		t.Fatalf("it is %s and waits for %+v", out.Status, out.Waiting)
	}
	again := must.Get(p.app.Resume(t.Context(), "t"))(t)
	if len(again.Waiting) != 1 || again.Waiting[0].ID != out.Waiting[0].ID {
		t.Errorf("a resume waits for %+v", again.Waiting)
	}
}
