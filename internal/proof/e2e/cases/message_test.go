package cases_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/step"
)

// A door takes a message for a thread and says what became of it.
type door struct {
	send   func(message string, withdraw bool) (gate posthouse.ID, err error)
	resume func() error
}

func (h *house) askGraph() *graph.App[order] {
	g := graph.New[order]("g")
	g.Node("ask", func(ctx context.Context, s *order) error {
		a, err := gate.Ask[any](ctx, gate.Question{Name: "pay?", Text: s.Memo})
		s.Log = append(s.Log, s.Memo+" "+string(a.Verdict))
		return err
	})
	g.Edge(graph.Start, "ask")
	g.Edge("ask", graph.End)
	return must.Get(g.Compile(h.led, nil))(h)
}

func (h *house) askFlow() *flow.App[string, string] {
	return must.Get(flow.New("f", func(ctx context.Context, in string) (string, error) {
		a, err := gate.Ask[any](ctx, gate.Question{Name: "pay?", Text: in})
		return in + " " + string(a.Verdict), err
	}).Open(h.led, nil))(h)
}

func (h *house) doors() map[string]door {
	ctx := h.Context()
	env := &app.Env{Ledger: h.led}
	g, f := h.askGraph(), h.askFlow()
	agent := func(a server.Agent, thread string) func(string, bool) (posthouse.ID, error) {
		return func(m string, withdraw bool) (posthouse.ID, error) {
			r, err := a.Handle(ctx, m, &server.HandleOptions{Thread: thread, Withdraw: withdraw, Text: func(string) {}, Event: func(server.AgentEvent) {}})
			if err != nil {
				return "", err
			}
			return r.Gate, nil
		}
	}
	memo := func(m string) (order, error) { return order{Memo: m}, nil }
	c := must.Get(coord.New(h.led, "desk", must.Get(coord.NewFleet())(h), func(ctx context.Context, m string, _ *coord.Fleet, _ *coord.Session) error {
		_, err := gate.Ask[any](ctx, gate.Question{Name: "pay?", Text: m})
		return err
	}, nil))(h)
	resumeGraph := func(thread string) func() error {
		return func() error { _, err := g.Resume(ctx, thread); return err }
	}
	resumeFlow := func(thread string) func() error {
		return func() error { _, err := f.Resume(ctx, thread); return err }
	}
	return map[string]door{
		"graph agent": {agent(app.GraphAgent(env, g, memo), "ga"), resumeGraph("ga")},
		"flow agent":  {agent(app.FlowAgent(env, f, nil), "fa"), resumeFlow("fa")},
		"graph": {func(m string, withdraw bool) (posthouse.ID, error) {
			r, err := g.Run(ctx, "g", order{Memo: m}, graph.RunOptions{Withdraw: withdraw})
			if err != nil {
				return "", err
			}
			return r.Waiting[0].ID, nil
		}, resumeGraph("g")},
		"flow": {func(m string, withdraw bool) (posthouse.ID, error) {
			r, err := f.Run(ctx, "f", m, flow.RunOptions{Withdraw: withdraw})
			if err != nil {
				return "", err
			}
			return r.Waiting[0].ID, nil
		}, resumeFlow("f")},
		"coordinator": {func(m string, withdraw bool) (posthouse.ID, error) {
			r, err := c.Handle(ctx, m, &coord.HandleOptions{Thread: "c", Withdraw: withdraw})
			if err != nil {
				return "", err
			}
			return r.Gate, nil
		}, func() error { _, err := c.Resume(ctx, "c", nil); return err }},
	}
}

// TestMessageToAWaitingThread: it does not withdraw a question, nor a decision that was not acted
// on yet, unless it says so.
func TestMessageToAWaitingThread(t *testing.T) {
	onStores(t, func(h *house) {
		for name, d := range h.doors() {
			first := must.Get(d.send("first", false))(h)
			refused := func(when string) {
				h.Helper()
				_, err := d.send("second", false)
				e, ok := errors.AsType[*posthouse.Error](err)
				if !ok || e.Code != posthouse.CodeConflict || !slices.Contains(e.Gates, first) {
					h.Errorf("name %s, when %s, error %v", name, when, err)
				}
			}
			refused("asked")
			if g := must.Get(h.led.Gate(h.Context(), first))(h); g.Decision != nil {
				h.Errorf("%s: the question was answered: %+v", name, g.Decision)
			}
			second := must.Get(d.send("second", true))(h)
			h.want(name+": the first question", must.Get(h.led.Gate(h.Context(), first))(h).Decision.Verdict, posthouse.Cancel)
			first = second
			h.approve(second)
			refused("decided")
			if err := d.resume(); err != nil {
				h.Errorf("%s: %v", name, err)
			}
			third := must.Get(d.send("third", false))(h) // the thread is done
			h.approve(third)
			must.Get(d.send("fourth", true))(h)
		}
	})
}

// TestMessageToACallerOfAWaitingThread: the question is in the thread of a subgraph.
func TestMessageToACallerOfAWaitingThread(t *testing.T) {
	onStores(t, func(h *house) {
		ctx := h.Context()
		in := graph.New[order]("inner")
		in.Node("ask", func(ctx context.Context, s *order) error {
			_, err := gate.Ask[any](ctx, gate.Question{Name: "pay?"})
			return err
		})
		in.Edge(graph.Start, "ask")
		in.Edge("ask", graph.End)
		g := graph.New[order]("outer")
		graph.Subgraph(g, "call", in, &graph.SubOptions[order, order]{OwnThread: true})
		g.Edge(graph.Start, "call")
		g.Edge("call", graph.End)
		app := must.Get(g.Compile(h.led, nil))(h)
		must.Get(app.Run(ctx, "t", order{}))(h)
		h.want("questions", len(h.people()), 1)
		_, err := app.Run(ctx, "t", order{})
		e, ok := errors.AsType[*posthouse.Error](err)
		if !ok || e.Gate != h.people()[0].ID {
			h.Errorf("refused by %v", err)
		}
	})
}

// TestRequestAfterACancelledOne: a coordinator's next request on the thread is not taken for the
// one that was cancelled, and its steps have keys of their own.
func TestRequestAfterACancelledOne(t *testing.T) {
	onStores(t, func(h *house) {
		ctx, keys := h.Context(), map[string]bool{}
		open := func() *coord.Coordinator {
			return must.Get(coord.New(h.led, "desk", must.Get(coord.NewFleet())(h), func(ctx context.Context, m string, _ *coord.Fleet, s *coord.Session) error {
				if _, err := step.Do(ctx, "book", func(ctx context.Context) (string, error) { keys[step.Key(ctx)] = true; return m, nil }); err != nil {
					return err
				}
				_, err := gate.Ask[any](ctx, gate.Question{Name: "pay?", Text: m})
				s.Stream("paid " + m)
				return err
			}, nil))(h)
		}
		must.Get(open().Handle(ctx, "first", &coord.HandleOptions{Thread: "c"}))(h)
		must.Get(h.led.Cancel(ctx, "c", nil))(h)
		h.restart()
		must.Get(open().Handle(ctx, "second", &coord.HandleOptions{Thread: "c"}))(h)
		h.decideAll()
		h.want("reply", must.Get(open().Resume(ctx, "c", nil))(h).Text, "paid second")
		h.want("keys", len(keys), 2)
	})
}
