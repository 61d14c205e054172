package content_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// afterRedo are times after people said that an effect is to be done again. Its approval is good for
// an hour, and they say so two hours after it.
var afterRedo = map[string]struct {
	wait time.Duration
	runs bool
}{"within": {59 * time.Minute, true}, "later": {61 * time.Minute, false}}

// redone has people say of the outcome that a thread asks about that the effect is to be done again,
// two hours later, and waits.
func (h *house) redone(wait time.Duration) {
	h.Helper()
	h.now = h.now.Add(2 * time.Hour)
	q := h.only("t")
	if q.Kind != gate.KindOutcome {
		h.Fatalf("asked: %+v", q)
	}
	h.decide(q.ID, posthouse.Redo, "alice")
	h.now = h.now.Add(wait)
}

// asksAgain expects that people are asked whether the effect still may be done.
func (h *house) asksAgain() {
	h.Helper()
	q := h.only("t")
	if q.Kind != posthouse.GateApproval || !strings.Contains(q.Note, "was good until") {
		h.Errorf("asked: %+v", q)
	}
}

// TestRedoRenewsTheApproval: an approval is good for ValidFor from when people said under it that an
// effect is to be done again, and no longer.
func TestRedoRenewsTheApproval(t *testing.T) {
	for when, tc := range afterRedo {
		t.Run(when, func(t *testing.T) {
			onStores(t, func(h *house) {
				paid := 0
				app := must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
					grant, err := gate.Propose(ctx, payQuestion(), bankTransfer{"bob", amount})
					if err != nil {
						return "", err
					}
					return gate.Act(ctx, "pay", grant, func(context.Context, bankTransfer) (string, error) {
						paid++
						if paid == 1 {
							return "", errors.New("EOF")
						}
						return fmt.Sprint("receipt ", paid), nil
					})
				}).Open(h.ledger, nil))(h)
				must(app.Run(h.Context(), "t", 10))(h)
				h.decide(h.only("t").ID, posthouse.Approve, "alice")
				must(app.Resume(h.Context(), "t"))(h)
				h.redone(tc.wait)
				plan := must(ledger.PlanResume(h.Context(), h.ledger, "t", ""))(h)
				if len(plan.Acts) != 1 || plan.Acts[0].Asks == tc.runs {
					h.Errorf("the plan is %+v", plan.Acts)
				}
				res := must(app.Resume(h.Context(), "t"))(h)
				if tc.runs {
					if res.Output != "receipt 2" || paid != 2 {
						h.Errorf("%+v after %d payments", res, paid)
					}
					return
				}
				if paid != 1 {
					h.Errorf("%d payments", paid)
				}
				h.asksAgain()
			})
		})
	}
}

// TestRedoRenewsTheApprovalAtAWorker is the same of an effect that hands a task out.
func TestRedoRenewsTheApprovalAtAWorker(t *testing.T) {
	for when, tc := range afterRedo {
		t.Run(when, func(t *testing.T) {
			onStores(t, func(h *house) {
				app := paysAtWorker(h)
				k := h.desk()
				defer k.stop()
				approvedAtWorker(h, app)
				k.gives(k.claims(), task.Verdict{Action: task.Unknown, Reason: "the line broke"})
				must(app.Resume(h.Context(), "t"))(h)
				h.redone(0)
				must(app.Resume(h.Context(), "t"))(h) // hands it out again
				h.now = h.now.Add(tc.wait)
				k.connect()
				if tc.runs {
					k.gives(k.claims(), task.Verdict{Action: task.Complete, Output: []byte(`"paid"`)})
					if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid" {
						h.Errorf("%+v", res)
					}
					return
				}
				if c := k.claim(); c != nil {
					h.Fatalf("a worker has %+v", c)
				}
				must(app.Resume(h.Context(), "t"))(h)
				h.asksAgain()
			})
		})
	}
}

// TestRedoRenewsTheApprovalInAHandler is the same of an effect in a worker's handler.
func TestRedoRenewsTheApprovalInAHandler(t *testing.T) {
	for when, tc := range afterRedo {
		t.Run(when, func(t *testing.T) {
			onDesks(t, func(k *desk, app *flow.App[int, string]) {
				h := k.house
				grant, c := k.approved(app, "t")
				must(k.begins(c, grant, "1"))(h)
				lose["stop"](k, c)
				h.redone(tc.wait)
				must(app.Resume(h.Context(), "t"))(h)
				k.connect()
				c = k.claims()
				b := must(k.begins(c, grant, "2"))(h)
				if b.Begins != tc.runs || b.Waits == tc.runs {
					h.Fatalf("%+v", b)
				}
				if tc.runs {
					return
				}
				u := use(grant)
				k.gives(c, task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: handlersPayment()}, {Act: &u}}})
				must(app.Resume(h.Context(), "t"))(h)
				h.asksAgain()
			})
		})
	}
}
