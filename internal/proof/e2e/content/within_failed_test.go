package content_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/step"
)

// actsAs proposes a transfer, good for an hour, and makes it with a function.
func (h *house) actsAs(fn func(ctx context.Context, t bankTransfer) (string, error), o ...gate.ActOptions[bankTransfer, string]) *flow.App[int, string] {
	return must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?", ValidFor: time.Hour}, bankTransfer{"bob", amount})
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "pay", grant, fn, o...)
	}).Open(h.ledger, nil))(h)
}

// An effect whose function fails after a part of it is on record is unknown, whatever the function
// says: people are asked, who are told of the part. If it is to be done, it continues behind that.
func TestAnEffectThatFailsAfterAPartOfItIsUnknown(t *testing.T) {
	for _, remote := range []bool{false, true} {
		onStores(t, func(h *house) {
			paid, booked := 0, false
			app := h.actsAs(func(ctx context.Context, t bankTransfer) (string, error) {
				var err error
				if remote {
					_, err = step.Remote[string](ctx, "pay", "pay", t)
				} else {
					_, err = step.Do(ctx, "pay", func(context.Context) (int, error) { paid++; return paid, nil })
				}
				if err == nil && !booked {
					err = gate.NotDone(errors.New("booking failed"))
				}
				return "booked", err
			})
			must(app.Run(h.Context(), "t", 10))(h)
			grant := h.only("t").ID
			h.decide(grant, posthouse.Approve, "alice")
			if remote {
				k := h.desk()
				defer k.stop()
				must(app.Resume(h.Context(), "t"))(h)
				paid++
				k.paid(k.claim())
			}
			for range 2 {
				must(app.Resume(h.Context(), "t"))(h)
			}
			h.grantIs(grant, grants.Unknown)
			q := h.only("t")
			if q.Kind != gate.KindOutcome || !remote && !strings.Contains(q.Note, "pay") || !strings.Contains(q.Note, "booking failed") {
				h.Fatalf("%+v", q)
			}
			h.decide(q.ID, posthouse.Redo, "alice")
			booked = true
			if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "booked" || paid != 1 {
				h.Errorf("%+v, paid %d times", res, paid)
			}
			h.grantIs(grant, grants.Executed)
		})
	}
}

// A select goes on without an effect while a worker has its task: its outcome is asked before
// anything else is done, whatever the function does then.
func TestAClaimedTaskLosesASelect(t *testing.T) {
	for name, late := range map[string]func(ctx context.Context, t bankTransfer, err error) (string, error){
		"returns": func(_ context.Context, _ bankTransfer, err error) (string, error) { return "late", nil },
		"fails": func(_ context.Context, _ bankTransfer, err error) (string, error) {
			return "", gate.NotDone(errors.New("too late"))
		},
		"fallback": func(ctx context.Context, t bankTransfer, err error) (string, error) {
			return step.Remote[string](ctx, "pay", "pay", t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				app := h.actsAs(func(ctx context.Context, t bankTransfer) (string, error) {
					w, err := step.Select(ctx, "first",
						step.When("pay", func(ctx context.Context) (string, error) { return step.Remote[string](ctx, "pay", "pay", t) }),
						step.When("late", func(ctx context.Context) (string, error) { return "", step.Sleep(ctx, "s", 10*time.Minute) }))
					if w.Case == "pay" || errors.Is(err, posthouse.ErrWaiting) {
						return w.Value, err
					}
					return late(ctx, t, err) // another error of the select is ignored
				})
				k := h.desk()
				defer k.stop()
				grant, _ := approvedAtWorker(h, app)
				c := k.claim()
				if c.Key != "t/1/pay/pay/0" {
					h.Errorf("its key is %s, not that of the use", c.Key)
				}
				h.now = h.now.Add(11 * time.Minute)
				k.connect()
				_, _ = app.Resume(h.Context(), "t")
				h.grantIs(grant, grants.Unknown)
				if again := k.claim(); again != nil {
					h.Fatalf("another worker has the payment: %+v, the first had %+v", again, c)
				}
				q := h.only("t")
				if q.Kind != gate.KindOutcome {
					h.Fatalf("%+v", q)
				}
				h.decide(q.ID, posthouse.Redo, "alice") // it was not done
				res, err := app.Resume(h.Context(), "t")
				switch name {
				case "returns":
					if err != nil || res.Output != "late" {
						h.Errorf("result %v, error %v", res, err)
					}
				case "fails":
					if err != nil || len(res.Waiting) != 1 { // the select is on record within it: that it was not done is asked
						h.Errorf("result %+v, error %v", res, err)
					}
				case "fallback":
					second := k.claim()
					if second == nil || second.Grant != grant || second.Key == c.Key {
						h.Fatalf("second %+v", second)
					}
					k.paid(second)
					if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid" {
						h.Error(res)
					}
				}
			})
		})
	}
}

// A function that waits with a context from outside of its effect is refused before a worker
// hears of its task.
func TestAFunctionThatWaitsOutsideOfItsEffect(t *testing.T) {
	onStores(t, func(h *house) {
		app := must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
			ctx = step.Unordered(ctx)
			grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{"bob", amount})
			if err != nil {
				return "", err
			}
			return gate.Act(ctx, "pay", grant, func(_ context.Context, t bankTransfer) (string, error) {
				return step.Remote[string](ctx, "pay", "pay", t)
			})
		}).Open(h.ledger, nil))(h)
		k := h.desk()
		defer k.stop()
		must(app.Run(h.Context(), "t", 10))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		if q := h.only("t"); q.Kind != gate.KindOutcome || !strings.Contains(q.Note, "nothing within it does") {
			h.Errorf("%+v", q)
		}
		if c := k.claim(); c != nil {
			h.Errorf("a worker has it: %+v", c)
		}
	})
}
