package content_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// A payer is a program of any package that asks once, for an hour, and pays.
type payer struct {
	begin  func() posthouse.ID     // returns the gate
	resume func(branch string) any // what came of it
	paid   *int
}

var payers = map[string]func(h *house) payer{
	"graph": func(h *house) payer {
		paid := 0
		g := graph.New[payment]("pay")
		g.Node("pay", func(ctx context.Context, s *payment) error {
			text, err := payOnce(ctx, s.Amount, &paid)
			s.Paid = []string{text}
			return err
		})
		g.Edge(graph.Start, "pay")
		g.Edge("pay", graph.End)
		app := must(g.Compile(h.ledger, nil))(h)
		return payer{
			begin: func() posthouse.ID { return must(app.Run(h.Context(), "p", payment{Amount: 10}))(h).Waiting[0].ID },
			resume: func(branch string) any {
				return fmt.Sprint(must(app.Resume(h.Context(), "p", graph.RunOptions{Branch: branch}))(h).State.Paid)
			},
			paid: &paid,
		}
	},
	"flow": func(h *house) payer {
		paid := 0
		app := must(flow.New("pay", func(ctx context.Context, amount int) (string, error) { return payOnce(ctx, amount, &paid) }).Open(h.ledger, nil))(h)
		return payer{
			begin: func() posthouse.ID { return must(app.Run(h.Context(), "p", 10))(h).Waiting[0].ID },
			resume: func(branch string) any {
				return fmt.Sprint([]string{must(app.Resume(h.Context(), "p", flow.RunOptions{Branch: branch}))(h).Output})
			},
			paid: &paid,
		}
	},
	"coordinator": func(h *house) payer {
		paid := 0
		fleet := must(coord.NewFleet(coord.Agent{Name: "payer", Skills: map[string]coord.Skill{"pay": func(ctx context.Context, c coord.Call) (coord.Result, error) {
			text, err := payOnce(ctx, 10, &paid)
			return coord.Result{Text: text}, err
		}}}))(h)
		c := must(coord.New(h.ledger, "desk", fleet, func(ctx context.Context, message string, f *coord.Fleet, s *coord.Session) error {
			r, err := f.Agent("payer").Call(ctx, "pay", message)
			s.Stream(r.Text)
			return err
		}, nil))(h)
		return payer{
			begin: func() posthouse.ID {
				return must(c.Handle(h.Context(), "pay", &coord.HandleOptions{Thread: "p"}))(h).Gate
			},
			resume: func(branch string) any {
				return "[" + must(c.Resume(h.Context(), "p", &coord.ResumeOptions{Branch: branch}))(h).Text + "]"
			},
			paid: &paid,
		}
	},
}

// payOnce asks and then pays in a step.
func payOnce(ctx context.Context, amount int, paid *int) (string, error) {
	a, err := gate.Ask[any](ctx, gate.Question{Name: "pay", Text: fmt.Sprintf("Pay %d?", amount), Expires: time.Hour})
	if err != nil || !a.Approved() {
		return "not paid", err
	}
	return step.Do(ctx, "pay", func(context.Context) (string, error) {
		*paid++
		return fmt.Sprintf("%d by %s", amount, a.By), nil
	})
}

// A question that expired, or that a person withdrew, is asked again, in place before
// its branch goes on and on a new branch after that: its approval pays, once.
func TestAskAgain(t *testing.T) {
	for name, open := range payers {
		for _, withdrawn := range []bool{false, true} {
			for _, gone := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/withdrawn=%v/gone on=%v", name, withdrawn, gone), func(t *testing.T) {
					onStores(t, func(h *house) { askAgain(h, open(h), withdrawn, gone) })
				})
			}
		}
	}
}

func askAgain(h *house, p payer, withdrawn, gone bool) {
	old := p.begin()
	_, err := h.ledger.AskAgain(h.Context(), old, nil)
	if !errors.Is(err, posthouse.ErrConflict) {
		h.Fatalf("an open gate is asked again: %v", err)
	}
	if withdrawn {
		must(h.ledger.Withdraw(h.Context(), old, ledger.Withdrawal{By: "ann", Operator: true, Reason: "asked twice"}))(h)
	}
	h.now = h.now.Add(2 * time.Hour)
	switch {
	case withdrawn && gone:
		p.resume(posthouse.MainBranch)
	case gone:
		must(commit.Expire(h.Context(), h.ledger.Core(), old))(h)
		p.resume(posthouse.MainBranch)
	}
	was := must(h.ledger.Gate(h.Context(), old))(h)
	g := must(h.ledger.AskAgain(h.Context(), old, &ledger.AskAgainOptions{By: "ops"}))(h)
	if g.ID == old || g.Content() != was.Content() || !g.ExpiresAt.Equal(h.now.Add(time.Hour)) || g.Decision != nil || (g.Branch == posthouse.MainBranch) == gone {
		h.Fatalf("asked again: %+v", g)
	}
	if in := h.only("p"); in.ID != g.ID {
		h.Fatalf("the inbox has %s, not %s", in.ID, g.ID)
	}
	if !gone {
		var e *posthouse.Error
		if _, err := h.ledger.AskAgain(h.Context(), old, nil); !errors.As(err, &e) || e.Gate != g.ID {
			h.Fatalf("asked a third time: %v", err)
		}
		if _, err := h.ledger.Decide(h.Context(), old, posthouse.Decision{Verdict: posthouse.Approve, By: "late"}); !errors.As(err, &e) || e.Gate != g.ID {
			h.Fatalf("the old gate: %v", err)
		}
	}
	h.decide(g.ID, posthouse.Approve, "mia")
	if got := p.resume(g.Branch); got != "[10 by mia]" {
		h.Fatalf("it ended with %v", got)
	}
	p.resume(g.Branch) // nothing is left to do
	if _, err := h.ledger.AskAgain(h.Context(), g.ID, nil); !errors.Is(err, posthouse.ErrDecided) {
		h.Fatalf("a decided gate is asked again: %v", err)
	}
	if *p.paid != 1 {
		h.Fatalf("paid %d times", *p.paid)
	}
}
