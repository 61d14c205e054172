package gate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
)

// A bad proposal is refused with the name of the field at fault, before anybody
// is asked.
func TestBadProposals(t *testing.T) {
	pay := func(context.Context, edit) (string, error) { return "", errors.New("it ran") }
	if _, err := gate.Propose(t.Context(), gate.Question{Name: "q"}, edit{}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Error("outside a task:", err)
	}
	if _, err := gate.Act(t.Context(), "pay", "gate-x", pay); !errors.Is(err, posthouse.ErrInvalid) {
		t.Error("outside a task:", err)
	}
	for field, node := range map[string]func(ctx context.Context) error{
		"Show":     proposing(gate.Question{Name: "q", Show: 1}),
		"Bind":     proposing(gate.Question{Name: "q", Bind: posthouse.ByName}),
		"Uses":     proposing(gate.Question{Name: "q", Uses: -1}),
		"Verdicts": proposing(gate.Question{Name: "q", Verdicts: []posthouse.Verdict{posthouse.Respond}}),
		"question": proposing(gate.Question{}),
		"grant": func(ctx context.Context) error {
			_, err := gate.Act(ctx, "pay", "", pay)
			return err
		},
		"fn": func(ctx context.Context) error {
			_, err := gate.Act[edit, string](ctx, "pay", "gate-x", nil)
			return err
		},
		"options": func(ctx context.Context) error {
			_, err := gate.Act(ctx, "pay", "gate-x", pay, gate.ActOptions[edit, string]{}, gate.ActOptions[edit, string]{})
			return err
		},
		"step": func(ctx context.Context) error {
			_, err := gate.Act(ctx, "", "gate-x", pay)
			return err
		},
	} {
		h := newHost(t, node)
		err := h.run()
		if e, ok := errors.AsType[*posthouse.Error](err); !ok || e.Code != posthouse.CodeInvalid || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
		if open := h.open(); len(open) > 0 {
			t.Errorf("%s: people are asked %v", field, open)
		}
	}
	h := newHost(t, func(ctx context.Context) error {
		_, err := gate.Act(ctx, "pay", "gate-nobody", pay)
		return err
	})
	if err := h.run(); !errors.Is(err, posthouse.ErrNotFound) {
		t.Error(err)
	}
}

func proposing(q gate.Question) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := gate.Propose(ctx, q, edit{})
		return err
	}
}

// The program's own check has the question put again, and what people say then
// counts for the effect.
func TestACheckHasTheQuestionPutAgain(t *testing.T) {
	moved, paid := true, 0
	h := newHost(t, func(ctx context.Context) error {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?", Bind: posthouse.ByContent}, edit{Amount: 7})
		if err != nil {
			return err
		}
		_, err = gate.Act(ctx, "pay", grant, func(_ context.Context, e edit) (int, error) { paid += e.Amount; return paid, nil },
			gate.ActOptions[edit, int]{Expect: &edit{Amount: 7}, Check: func(_ context.Context, g *posthouse.Gate) error {
				if moved && g.Supersedes == "" {
					return errors.New("the price has moved")
				}
				return nil
			}})
		return err
	})
	first := h.wait()[0]
	h.decide(first.ID, posthouse.Decision{Verdict: posthouse.Approve})
	again := h.wait()[0]
	if again.Supersedes != first.ID || paid != 0 {
		t.Fatalf("%+v, paid %d", again, paid)
	}
	h.decide(again.ID, posthouse.Decision{Verdict: posthouse.Approve})
	if err := h.run(); err != nil || paid != 7 {
		t.Fatalf("error %v, paid %v", err, paid)
	}
	if g, err := ledger.ReadGrant(t.Context(), h.l, again.ID); err != nil || g.Status != grants.Executed {
		t.Fatal(g, err)
	}
}

// Deadlines and withdrawals of a proposal are errors of their own.
func TestUnapprovedProposals(t *testing.T) {
	h := newHost(t, proposing(gate.Question{Name: "q"}))
	h.decide(h.wait()[0].ID, posthouse.Decision{Verdict: posthouse.Cancel, Reason: "not any more"})
	if err := h.run(); !errors.Is(err, posthouse.ErrCancelled) {
		t.Error(err)
	}
	h = newHost(t, proposing(gate.Question{Name: "q", Expires: 1e9}))
	h.wait()
	h.advance(2e9)
	if err := h.run(); !errors.Is(err, posthouse.ErrExpired) {
		t.Error(err)
	}
}
