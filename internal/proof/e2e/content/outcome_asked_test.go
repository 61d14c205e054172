package content_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/dying"
	movers "github.com/posthouse/posthouse/runner"
)

// paysOnce opens a flow that proposes and pays. before is called each time that it runs.
func (h *house) paysOnce(o gate.ActOptions[bankTransfer, string], before func(), pay func(context.Context, bankTransfer) (string, error)) *flow.App[int, string] {
	h.Helper()
	return must(flow.New("pays-once", func(ctx context.Context, n int) (string, error) {
		before()
		grant, err := propose(ctx, "pay", bankTransfer{"bob", n})
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "pay", grant, pay, o)
	}).Open(h.ledger, nil))(h)
}

// diesPaying has a process pay under an approval, and lost before the result is on record.
func (h *house) diesPaying(thread string, b *bank, o gate.ActOptions[bankTransfer, string]) {
	h.Helper()
	below := h.store
	s := dying.New(below)
	h.store = s
	h.restart()
	app := h.paysOnce(o, func() {}, func(ctx context.Context, c bankTransfer) (string, error) {
		out, err := b.pay(ctx, c)
		s.Die(1, false)
		return out, err
	})
	must(app.Run(h.Context(), thread, 10))(h)
	h.decide(h.only(thread).ID, posthouse.Approve, "alice")
	if _, err := app.Resume(h.Context(), thread); err == nil {
		h.Fatal("the process lives")
	}
	h.store = below
	h.restart()
	b.want(h, bankTransfer{"bob", 10})
}

// isAskedAbout wants that the one question of a thread is about an unknown outcome, in the entry that
// has its state.
func (h *house) isAskedAbout(thread string) *posthouse.Gate {
	h.Helper()
	g := h.only(thread)
	if g.Kind != gate.KindOutcome {
		h.Fatalf("people are asked %q", g.Text)
	}
	for e, err := range h.ledger.Log(h.Context(), thread, posthouse.Range{From: g.Seq, To: g.Seq}) {
		if err != nil {
			h.Fatal(err)
		}
		state := false
		for i := range e.Records {
			state = state || e.Records[i].Step != nil && e.Records[i].Step.Name == "pay>$unknown"
		}
		if !state {
			h.Errorf("entry %d asks, and does not hold the state", e.Seq)
		}
	}
	return g
}

// The next owner of a thread that was lost in the middle of an effect asks people
// before its program runs.
func TestNextOwnerAsksFirst(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		h.diesPaying("t", b, gate.ActOptions[bankTransfer, string]{})
		ran := 0
		app := h.paysOnce(gate.ActOptions[bankTransfer, string]{}, func() { ran++; h.isAskedAbout("t") }, b.pay)
		if r := must(app.Resume(h.Context(), "t"))(h); len(r.Waiting) != 1 || ran != 1 {
			h.Fatal(r, ran)
		}
		q := h.isAskedAbout("t")
		must(h.ledger.Decide(h.Context(), q.ID, posthouse.Decision{Verdict: posthouse.Happened, By: "ops", Value: []byte(`{"not":"a receipt"}`)}))(h)
		app = h.paysOnce(gate.ActOptions[bankTransfer, string]{}, func() {}, b.pay)
		if r := must(app.Resume(h.Context(), "t"))(h); len(r.Waiting) != 1 {
			h.Fatal(r) // a result that does not fit: people are asked again
		}
		again := h.only("t")
		if again.ID == q.ID || len(again.Schema) == 0 || len(again.Verdicts) != 2 {
			h.Fatalf("%+v", again)
		}
		must(h.ledger.Decide(h.Context(), again.ID, posthouse.Decision{Verdict: posthouse.Happened, By: "ops", Value: []byte(`"receipt"`)}))(h)
		if r := must(app.Resume(h.Context(), "t"))(h); r.Output != "receipt" {
			h.Errorf("%+v", r)
		}
		b.want(h, bankTransfer{"bob", 10})
	})
}

// A runner asks at its start, also about threads of programs that it does not have. What may be done
// again with its key is not asked about.
func TestRunnerAsksForProgramsThatItDoesNotHave(t *testing.T) {
	onStores(t, func(h *house) {
		h.diesPaying("t", &bank{}, gate.ActOptions[bankTransfer, string]{})
		h.diesPaying("key", &bank{}, gate.ActOptions[bankTransfer, string]{Idempotent: true})
		other := must(movers.New(h.ledger, nil))(h)
		for range 2 {
			if err := other.Settle(h.Context()); err != nil {
				h.Error(err)
			}
			h.isAskedAbout("t")
		}
		if asked := h.inbox("key"); len(asked) != 0 {
			h.Errorf("people are asked %q", asked[0].Text)
		}
	})
}

// The program looks five times within ten minutes before people are asked, and continues after that.
// What it finds closes the question, unless a person was faster.
func TestReconcileContinuesAfterPeopleAreAsked(t *testing.T) {
	onStores(t, func(h *house) {
		for _, thread := range []string{"program", "person"} {
			b, looks, found := &bank{fail: errLost}, []time.Time{}, false
			o := gate.ActOptions[bankTransfer, string]{Reconcile: func(context.Context, bankTransfer) (string, bool, error) {
				looks = append(looks, h.now)
				if found {
					return "found", true, nil
				}
				return "", false, errors.New("the bank is closed")
			}}
			app := h.paysOnce(o, func() {}, b.pay)
			r := must(movers.New(h.ledger, &movers.Options{Programs: []posthouse.Program{app}}))(h)
			settle := func(after time.Duration) {
				h.Helper()
				h.now = h.now.Add(after)
				if err := r.Settle(h.Context()); err != nil {
					h.Fatal(err)
				}
			}
			must(app.Run(h.Context(), thread, 10))(h)
			h.decide(h.only(thread).ID, posthouse.Approve, "alice")
			began := h.now
			for settle(0); len(h.inbox(thread)) == 0; settle(time.Second) {
				if h.now.Sub(began) > 10*time.Minute {
					h.Fatalf("nobody is asked after %d looks", len(looks))
				}
			}
			q := h.isOutcome(thread)
			if len(looks) != 5 {
				h.Errorf("people are asked after %d looks", len(looks))
			}
			settle(time.Minute)
			for i, pause := range []time.Duration{8 * time.Minute, 16 * time.Minute} {
				if settle(pause); len(looks) != 6+i {
					h.Errorf("after %s: %d looks", pause, len(looks))
				}
			}
			by, want := "ops", "by hand"
			if thread == "program" {
				by, want, found = "program:reconcile", "found", true
				settle(32 * time.Minute)
			} else {
				must(h.ledger.Decide(h.Context(), q.ID, posthouse.Decision{Verdict: posthouse.Happened, By: "ops", Value: []byte(`"by hand"`)}))(h)
				settle(0)
			}
			if d := must(h.ledger.Gate(h.Context(), q.ID))(h).Decision; d == nil || d.Verdict != posthouse.Happened || d.By != by {
				h.Errorf("%s: %+v", thread, d)
			}
			if out := must(app.Result(h.Context(), thread))(h); out.Output != want {
				h.Errorf("%s: %+v", thread, out)
			}
			b.want(h, bankTransfer{"bob", 10})
		}
	})
}

func (h *house) isOutcome(thread string) *posthouse.Gate {
	h.Helper()
	g := h.only(thread)
	if g.Kind != gate.KindOutcome {
		h.Fatalf("people are asked %q", g.Text)
	}
	return g
}
