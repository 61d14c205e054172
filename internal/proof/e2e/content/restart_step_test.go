package content_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// A refunding program plans, asks how to refund, does so, and asks whether to say
// so. Each version asks in its own words.
type refunding struct {
	question string
	ran      []string
}

func (p *refunding) run(ctx context.Context, paid *string) error {
	if err := p.step(ctx, "plan", posthouse.EffectPure); err != nil {
		return err
	}
	a, err := gate.Ask[any](ctx, gate.Question{Name: "how?", Text: p.question})
	if err != nil {
		return err
	}
	*paid = "voucher"
	if a.Approved() {
		*paid = "cash"
	}
	if err := p.step(ctx, *paid, posthouse.EffectExternal); err != nil {
		return err
	}
	if err := p.step(ctx, "note", posthouse.EffectRead); err != nil {
		return err
	}
	_, err = gate.Ask[any](ctx, gate.Question{Name: "tell?", Text: "Tell the customer?", Bind: posthouse.ByName})
	return err
}

func (p *refunding) step(ctx context.Context, name string, effect posthouse.Effect) error {
	_, err := step.DoWith(ctx, name, step.Options{Effect: effect}, func(context.Context) (int, error) {
		p.ran = append(p.ran, name)
		return 1, nil
	})
	return err
}

// programs run a thread's unfinished step, in each model.
func (p *refunding) programs(h *house) map[string]func(thread string, input bool) error {
	type state struct{ Paid string }
	g := graph.New[state]("refunding")
	g.Node("refund", func(ctx context.Context, s *state) error { return p.run(ctx, &s.Paid) })
	g.Edge(graph.Start, "refund")
	g.Edge("refund", graph.End)
	app := must(g.Compile(h.ledger, nil))(h)
	fl := must(flow.New("refunding-flow", func(ctx context.Context, _ int) (paid string, err error) {
		return paid, p.run(ctx, &paid)
	}).Open(h.ledger, nil))(h)
	return map[string]func(string, bool) error{
		"graph": func(thread string, input bool) error {
			if input {
				_, err := app.Run(h.Context(), thread, state{})
				return err
			}
			_, err := app.Resume(h.Context(), thread)
			return err
		},
		"flow": func(thread string, input bool) error {
			if input {
				_, err := fl.Run(h.Context(), thread, 0)
				return err
			}
			_, err := fl.Resume(h.Context(), thread)
			return err
		},
	}
}

// A question that a deploy puts otherwise is answered otherwise, and leads another
// way than the one on record. RestartStep drops that way, but for the effect on the
// world, which it lists and which does not happen twice.
func TestRestartTakesAnotherWay(t *testing.T) {
	onStores(t, func(h *house) {
		for _, model := range []string{"graph", "flow"} {
			p, thread := &refunding{question: "In cash?"}, model
			run := p.programs(h)[model]
			check := func(what string, err error) {
				h.Helper()
				if err != nil {
					h.Fatalf("model %s, what %s, error %v", model, what, err)
				}
			}
			check("run", run(thread, true))
			h.decide(h.only(thread).ID, posthouse.Approve, "alice")
			check("resume", run(thread, false))

			p.question = "In cash, or as a voucher?"
			h.restart()
			run = p.programs(h)[model]
			h.decide(h.only(thread).ID, posthouse.Approve, "clerk") // tell?
			check("with the new question", run(thread, false))
			g := h.only(thread)
			if g.Name != "how?" || g.Text != p.question {
				h.Fatalf("%s asks %+v", model, g)
			}
			h.decide(g.ID, posthouse.Reject, "alice")
			var order *engine.OrderError
			if err := run(thread, false); !errors.As(err, &order) || order.Asked != "voucher" || order.Recorded != "cash" {
				h.Fatalf("%s goes another way: %v", model, err)
			}

			head := must(h.ledger.Thread(h.Context(), thread))(h).Branches[0].Head
			a := must(h.ledger.RestartStep(h.Context(), head, &ledger.RestartStepOptions{By: "ops"}))(h)
			if got := fmt.Sprint(stepNames(a.Dropped), stepNames(a.Kept)); got != "[plan note] [cash]" {
				h.Errorf("%s dropped and kept %s", model, got)
			}
			p.ran = nil
			check("anew", run(thread, false))
			if !slices.Equal(p.ran, []string{"plan", "voucher", "note"}) {
				h.Errorf("%s ran %v", model, p.ran)
			}
			if info := must(h.ledger.Thread(h.Context(), thread))(h); info.Branches[0].Status != posthouse.StatusDone {
				h.Errorf("%s is %s", model, info.Branches[0].Status)
			}
		}
	})
}

// An effect that survives is found wherever the program comes to it, and not made
// again.
func TestEffectSurvivesARestartedStep(t *testing.T) {
	onStores(t, func(h *house) {
		for _, model := range []string{"graph", "flow"} {
			p, thread := &refunding{question: "In cash?"}, model
			run := p.programs(h)[model]
			if err := run(thread, true); err != nil {
				h.Fatal(err)
			}
			h.decide(h.only(thread).ID, posthouse.Approve, "alice")
			if err := run(thread, false); err != nil {
				h.Fatal(err)
			}
			head := must(h.ledger.Thread(h.Context(), thread))(h).Branches[0].Head
			must(h.ledger.RestartStep(h.Context(), head, nil))(h)
			p.ran = nil
			if run(thread, false) != nil || !slices.Equal(p.ran, []string{"plan", "note"}) {
				h.Errorf("%s ran %v", model, p.ran)
			}
			h.decide(h.only(thread).ID, posthouse.Approve, "clerk") // the question that was open is asked again
			if err := run(thread, false); err != nil || len(p.ran) != 2 {
				h.Errorf("%s ran %v, %v", model, p.ran, err)
			}
		}
	})
}

func stepNames(steps []posthouse.StepRecord) (names []string) {
	for _, s := range steps {
		names = append(names, s.Name)
	}
	return names
}

// Nodes that completed beside the unfinished execution do not run again.
func TestRestartKeepsCompletedNodes(t *testing.T) {
	onStores(t, func(h *house) {
		type state struct {
			Left, Right string
		}
		var ran []string
		g := graph.New[state]("parent")
		g.Node("left", func(_ context.Context, s *state) error {
			ran = append(ran, "left")
			s.Left = "done"
			return nil
		})
		g.Node("first", func(context.Context, *state) error { return nil })
		g.Node("right", func(ctx context.Context, s *state) error {
			_, err := gate.Ask[struct{}](ctx, gate.Question{Name: "right?"})
			s.Right = "done"
			return err
		})
		g.Edge(graph.Start, "first")
		g.Edge("first", "left")
		g.Edge("first", "right")
		g.Edge("left", graph.End)
		g.Edge("right", graph.End)
		app := must(g.Compile(h.ledger, nil))(h)
		must(app.Run(h.Context(), "t", state{}))(h)
		head := must(h.ledger.Latest(h.Context(), ledger.LatestQuery{Thread: "t"}))(h)
		must(h.ledger.RestartStep(h.Context(), head.ID, nil))(h)
		must(app.Resume(h.Context(), "t"))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		out := must(app.Resume(h.Context(), "t"))(h)
		if out.Status != posthouse.StatusDone || out.State != (state{"done", "done"}) || !slices.Equal(ran, []string{"left"}) {
			h.Errorf("%s, %+v, ran %v", out.Status, out.State, ran)
		}
	})
}

// A thread that the step called is taken up where it stands, and not cancelled.
func TestRestartContinuesACalledThread(t *testing.T) {
	onStores(t, func(h *house) {
		type state struct{ Answer string }
		ran := 0
		sub := graph.New[state]("called")
		sub.Node("work", func(context.Context, *state) error { ran++; return nil })
		sub.Node("ask", func(ctx context.Context, s *state) error {
			a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "inner?"})
			s.Answer = a.By
			return err
		})
		sub.Edge(graph.Start, "work")
		sub.Edge("work", "ask")
		sub.Edge("ask", graph.End)
		g := graph.New[state]("calling")
		graph.Subgraph(g, "call", sub, &graph.SubOptions[state, state]{
			OwnThread: true, Out: func(s, t *state) error { s.Answer = t.Answer; return nil },
		})
		g.Edge(graph.Start, "call")
		g.Edge("call", graph.End)
		app := must(g.Compile(h.ledger, nil))(h)
		must(app.Run(h.Context(), "t", state{}))(h)
		head := must(h.ledger.Latest(h.Context(), ledger.LatestQuery{Thread: "t"}))(h)
		must(h.ledger.RestartStep(h.Context(), head.ID, nil))(h)
		must(app.Resume(h.Context(), "t"))(h)
		h.decide(h.only("").ID, posthouse.Approve, "alice")
		out := must(app.Resume(h.Context(), "t"))(h)
		if out.Status != posthouse.StatusDone || out.State.Answer != "alice" || ran != 1 {
			h.Errorf("%s, %+v, the called thread began %d times", out.Status, out.State, ran)
		}
	})
}
