package gate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// An attempt that is found not to have acted names the gate it was let go under,
// also after a crash, and where effects without a grant are refused.
func TestAttemptThatDidNotActNamesItsGrant(t *testing.T) {
	lost := fmt.Errorf("the line went dead: %w", posthouse.ErrUnknown)
	h := newHost(t, func(ctx context.Context) error {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay"}, edit{Amount: 7})
		if err != nil {
			return err
		}
		_, err = gate.Act(ctx, "pay", grant, func(context.Context, edit) (string, error) { return "receipt", lost },
			gate.ActOptions[edit, string]{Reconcile: func(context.Context, edit) (string, bool, error) { return "", false, nil }})
		return err
	})
	h.required = true
	h.restart()
	id := h.wait()[0].ID
	h.decide(id, posthouse.Decision{Verdict: posthouse.Edit, Value: []byte(`{"amount":5}`)})
	if err := h.run(); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal(err)
	}
	h.advance(31 * time.Second) // the program looked once, and is to look again after Settle
	lost = nil
	h.restart()
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	g, err := ledger.ReadGrant(t.Context(), h.l, id)
	if err != nil {
		t.Fatal(err)
	}
	if g.Status != grants.Executed || len(g.Uses) != 1 || g.Uses[0].Failed != 1 || string(g.Uses[0].Result.Data) != `"receipt"` {
		t.Errorf("%+v", g)
	}
	if c := string(g.Gate.Licensed()); c != `{"amount":5}` {
		t.Errorf("it licenses %s", c)
	}
}

// A thread says which effects acted on the world, and who allowed each.
func TestEffectsOfAThread(t *testing.T) {
	approved := false
	h := newHost(t, func(ctx context.Context) error {
		if _, err := step.DoWith(ctx, "mail", step.Options{Effect: posthouse.EffectExternal}, func(context.Context) (int, error) { return 1, nil }); err != nil {
			return err
		}
		if _, err := step.Do(ctx, "think", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return err
		}
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Uses: 2}, edit{Amount: 7})
		if err != nil {
			return err
		}
		for range 2 {
			_, err = gate.Act(ctx, "pay", grant, func(context.Context, edit) (int, error) { return 1, nil })
			if err != nil {
				return err
			}
		}
		approved = true
		return nil
	})
	id := h.wait()[0].ID
	h.decide(id, posthouse.Decision{Verdict: posthouse.Approve})
	if err := h.run(); err != nil || !approved {
		t.Fatal(err)
	}
	effects, err := ledger.Effects(t.Context(), h.l, "order-1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range effects {
		got = append(got, fmt.Sprintf("%s[%d] %s %s by leave %v", u.Name, u.Occurrence, u.Effect, u.Status, u.Grant == id))
	}
	want := []string{"mail[0] external executed by leave false", "pay[0] external executed by leave true", "pay[1] external executed by leave true"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
	if _, err := ledger.Effects(t.Context(), h.l, "nobody"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Error(err)
	}
}

// A question may be asked again once its deadline passed, looked at or not.
func TestMayAskAgain(t *testing.T) {
	h := newHost(t, proposing(gate.Question{Name: "q", Expires: 1e9}))
	id := h.wait()[0].ID
	for _, passed := range []bool{false, true} {
		g, err := h.l.Gate(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := deciders.MayAskAgain(g, h.l.Now()); (err == nil) != passed {
			t.Errorf("passed %v: %v", passed, err)
		}
		h.advance(2e9)
	}
}
