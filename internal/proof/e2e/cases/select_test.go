package cases_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// decision waits for the manager, the customer, the warehouse or the evening.
func decision(ctx context.Context) (string, error) {
	first, err := step.Select(ctx, "decision",
		step.When("manager", func(ctx context.Context) (string, error) {
			a, err := gate.Ask[any](ctx, gate.Question{Name: "approve", Text: "Ship it?", Expires: 72 * time.Hour})
			return string(a.Verdict), err
		}),
		step.When("customer", func(ctx context.Context) (string, error) {
			return step.Signal[string](ctx, "withdrawn", step.SignalOptions{})
		}),
		step.When("warehouse", func(ctx context.Context) (string, error) {
			return step.Remote[string](ctx, "stock", "check", 1)
		}),
		step.When("evening", func(ctx context.Context) (string, error) {
			return "too late", step.Sleep(ctx, "day", 10*time.Hour)
		}))
	return first.Case + ": " + first.Value, err
}

// waits are the names of all that is waited for.
func (h *house) waits(thread string) (n int) {
	for g, err := range h.led.Gates(h.Context(), ledger.GateQuery{Thread: thread, All: true}) {
		must.Get(g, err)(h)
		n++
	}
	return n
}

// TestFirstOfSeveralWaits: the first one ends the wait, in a flow and in a node, and the others are
// withdrawn.
func TestFirstOfSeveralWaits(t *testing.T) {
	for name, end := range map[string]struct {
		by   func(h *house, thread string)
		want string
	}{
		"manager": {func(h *house, _ string) { h.approve(h.people()[0].ID) }, "manager: approve"},
		"customer": {func(h *house, thread string) {
			must.Get(h.led.Signal(h.Context(), thread, posthouse.Signal{Name: "withdrawn", Value: []byte(`"too expensive"`), By: "customer"}))(h)
		}, "customer: too expensive"},
		"evening": {func(h *house, _ string) { h.now = h.now.Add(11 * time.Hour) }, "evening: too late"},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				ctx := h.Context()
				fn := flow.New("order", func(ctx context.Context, _ string) (string, error) {
					how, err := decision(ctx)
					if err != nil {
						return "", err
					}
					return how, note(ctx, "after it")
				})
				g := graph.New[order]("g")
				g.Node("wait", func(ctx context.Context, s *order) (err error) {
					s.Memo, err = decision(ctx)
					return err
				})
				g.Edge(graph.Start, "wait")
				g.Edge("wait", graph.End)
				must.Get(must.Get(fn.Open(h.led, nil))(h).Run(ctx, "f", ""))(h)
				question := h.people()[0].ID
				h.want("waits", h.waits("f"), 4)
				end.by(h, "f")
				h.restart()
				o := must.Get(must.Get(fn.Open(h.led, nil))(h).Resume(ctx, "f"))(h)
				h.want("flow", string(o.Status)+" "+o.Output, "done "+end.want)
				h.want("waits left", h.waits("f"), 0)
				if d := must.Get(h.led.Gate(ctx, question))(h).Decision; name != "manager" && (d.Verdict != posthouse.Cancel || d.Reason == "") {
					h.Errorf("the question has %+v", d)
				}
				if _, err := h.led.Decide(ctx, question, posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}); !errors.Is(err, posthouse.ErrDecided) {
					h.Errorf("a late approval: %v", err)
				}
				must.Get(must.Get(g.Compile(h.led, nil))(h).Run(ctx, "g", order{}))(h)
				end.by(h, "g")
				h.restart()
				r := must.Get(must.Get(g.Compile(h.led, nil))(h).Resume(ctx, "g"))(h)
				h.want("graph", string(r.Status)+" "+r.State.Memo, "done "+end.want)
				h.want("waits left", h.waits("g"), 0)
			})
		})
	}
}

// TestWinnerOfASelectStays over a crash after the select, with the losers withdrawn in the
// commit that recorded it.
func TestWinnerOfASelectStays(t *testing.T) {
	onStores(t, func(h *house) {
		ctx, broken := h.Context(), true
		g := graph.New[order]("g")
		g.Node("wait", func(ctx context.Context, s *order) (err error) {
			s.Memo, err = decision(ctx)
			if err == nil && broken {
				h.want("waits when the winner is known", h.waits("t"), 0)
				return errors.New("the node failed after it")
			}
			return err
		})
		g.Edge(graph.Start, "wait")
		g.Edge("wait", graph.End)
		must.Get(must.Get(g.Compile(h.led, nil))(h).Run(ctx, "t", order{}))(h)
		must.Get(h.led.Signal(ctx, "t", posthouse.Signal{Name: "withdrawn", Value: []byte(`"no"`)}))(h)
		if _, err := must.Get(g.Compile(h.led, nil))(h).Resume(ctx, "t"); err == nil {
			h.Error("it did not fail")
		}
		h.restart()
		broken = false
		h.want("memo", must.Get(must.Get(g.Compile(h.led, nil))(h).Resume(ctx, "t"))(h).State.Memo, "customer: no")
	})
}

// TestSelectEndsWithAnError of a wait that is over without a value.
func TestSelectEndsWithAnError(t *testing.T) {
	onStores(t, func(h *house) {
		ctx := h.Context()
		fn := flow.New("order", func(ctx context.Context, _ string) (string, error) {
			first, err := step.Select(ctx, "payment",
				step.When("approval", func(ctx context.Context) (string, error) {
					g, err := gate.Propose(ctx, gate.Question{Name: "pay"}, 40)
					return string(g), err
				}),
				step.When("signal", func(ctx context.Context) (string, error) {
					return step.Signal[string](ctx, "paid", step.SignalOptions{})
				}))
			if errors.Is(err, posthouse.ErrForbidden) {
				return first.Case + " refused", note(ctx, "cancel the order")
			}
			return first.Value, err
		})
		must.Get(must.Get(fn.Open(h.led, nil))(h).Run(ctx, "t", ""))(h)
		must.Get(h.led.Decide(ctx, h.people()[0].ID, posthouse.Decision{Verdict: posthouse.Reject, By: "ann"}))(h)
		h.restart()
		h.want("output", must.Get(must.Get(fn.Open(h.led, nil))(h).Resume(ctx, "t"))(h).Output, "approval refused")
		h.want("waits left", h.waits("t"), 0)
	})
}

// TestReturnedWhileAQuestionIsOpen: the thread stays parked, and the result says which question is
// open, and that the output is dropped.
func TestReturnedWhileAQuestionIsOpen(t *testing.T) {
	onStores(t, func(h *house) {
		ctx := h.Context()
		f := must.Get(flow.New("f", func(ctx context.Context, _ string) (string, error) {
			_, _ = gate.Ask[any](ctx, gate.Question{Name: "ship?"})
			return "shipped", nil
		}).Open(h.led, nil))(h)
		r := must.Get(f.Run(ctx, "f", ""))(h)
		if r.Status != posthouse.StatusWaiting || !strings.Contains(r.Note, `"ship?"`) || !strings.Contains(r.Note, "output is dropped") {
			h.Errorf("flow: %s, %q", r.Status, r.Note)
		}
		h.approve(h.people()[0].ID)
		if r := must.Get(f.Resume(ctx, "f"))(h); r.Output != "shipped" || r.Note != "" {
			h.Errorf("answered: %+v", r)
		}
		g := graph.New[order]("g")
		g.Node("ship", func(ctx context.Context, s *order) error {
			_, _ = gate.Ask[any](ctx, gate.Question{Name: "ship?"})
			s.Memo = "shipped"
			return nil
		})
		g.Edge(graph.Start, "ship")
		g.Edge("ship", graph.End)
		o := must.Get(must.Get(g.Compile(h.led, nil))(h).Run(ctx, "g", order{}))(h)
		if o.Status != posthouse.StatusWaiting || !strings.Contains(o.Note, `"ship?"`) || !strings.Contains(o.Note, `"ship"`) || o.State.Memo != "" {
			h.Errorf("graph: %s, %q, %+v", o.Status, o.Note, o.State)
		}
	})
}

// TestSelectThatIsRefused before it waits for anything.
func TestSelectThatIsRefused(t *testing.T) {
	wait := func(ctx context.Context) (string, error) { return "", step.Sleep(ctx, "s", time.Hour) }
	if _, err := step.Select(t.Context(), "x", step.When("a", wait)); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("outside a task: %v", err)
	}
	onStores(t, func(h *house) {
		f := must.Get(flow.New("f", func(ctx context.Context, _ string) (string, error) {
			for what, cases := range map[string][]step.Case[string]{
				"none": nil, "twice": {step.When("a", wait), step.When("a", wait)}, "no function": {step.When[string]("a", nil)}, "a bad name": {step.When("a>b", wait)},
			} {
				if _, err := step.Select(ctx, "x", cases...); !errors.Is(err, posthouse.ErrInvalid) {
					h.Errorf("%s: %v", what, err)
				}
			}
			boom := errors.New("boom")
			_, err := step.Select(ctx, "y", step.When("a", wait), step.When("b", func(context.Context) (string, error) { return "", boom }))
			if !errors.Is(err, boom) {
				h.Errorf("a case that failed: %v", err)
			}
			return "", err
		}).Open(h.led, nil))(h)
		if r := must.Get(f.Run(h.Context(), "t", ""))(h); r.Status != posthouse.StatusWaiting || h.waits("t") != 1 {
			h.Errorf("a case that failed withdrew what another waits for: %+v", r)
		}
	})
}
