package content_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
)

// TestKeyOfAnEffectThatIsRepeated: an idempotent effect with an unknown outcome is repeated under its key,
// also under the decision that was asked for again. One that is known not to have acted is another use under
// that decision, with another key.
func TestKeyOfAnEffectThatIsRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		lost error
		same bool
	}{"unknown": {posthouse.ErrUnknown, true}, "did not act": {gate.NotDone(errors.New("the bank is shut")), false}} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				h.grants = true
				h.restart()
				var keys []string
				lost := c.lost
				app := must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
					grant, err := gate.Propose(ctx, payQuestion(), bankTransfer{"bob", amount})
					if err != nil {
						return "", err
					}
					return gate.Act(ctx, "pay", grant, func(ctx context.Context, _ bankTransfer) (string, error) {
						keys = append(keys, step.Key(ctx))
						return "paid", lost
					}, gate.ActOptions[bankTransfer, string]{Idempotent: true})
				}).Open(h.ledger, nil))(h)
				must(app.Run(h.Context(), "t", 10))(h)
				first := h.only("t").ID
				h.decide(first, posthouse.Approve, "alice")
				if _, err := app.Resume(h.Context(), "t"); err == nil {
					h.Fatal("it did not fail")
				}
				if _, err := app.Resume(h.Context(), "t"); err == nil { // another attempt under the same decision
					h.Fatal("it did not fail")
				}
				h.now = h.now.Add(2 * time.Hour)
				lost = nil
				must(app.Resume(h.Context(), "t"))(h)
				q := h.only("t")
				if q.Supersedes != first {
					h.Fatalf("%+v", q)
				}
				h.decide(q.ID, posthouse.Approve, "alice")
				if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid" {
					h.Errorf("result %+v", res)
				}
				if len(keys) != 3 || keys[0] != keys[1] || (keys[1] == keys[2]) != c.same {
					h.Errorf("keys %q", keys)
				}
				h.verified()
			})
		})
	}
}

// TestKeyOfAHandlersEffectOnAFork: an idempotent effect of a handler that was lost is another use on a fork,
// under a decision of its own, with another key. There it keeps that key.
func TestKeyOfAHandlersEffectOnAFork(t *testing.T) {
	onDesks(t, func(k *desk, app *flow.App[int, string]) {
		h := k.house
		grant, c := k.approved(app, "t")
		begin := func(c *task.Claim, grant posthouse.ID, call string) *task.Begun {
			h.Helper()
			u := use(grant)
			u.Idempotent = true
			b := must(k.d.Begin(h.Context(), c.ID, task.Beginning{Use: u, Nonce: "0123456789abcdef" + call}))(h)
			if !b.Begins || b.Key == "" {
				h.Fatalf("%+v", b)
			}
			return b
		}
		first := begin(c, grant, "1")
		lose["fail"](k, c)
		more := posthouse.Gate{Name: "more", Kind: posthouse.GateApproval, Text: "More?"}
		k.gives(k.claims(), task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: handlersPayment()}, {Question: &more}}})
		head := must(app.Resume(h.Context(), "t"))(h).Checkpoint
		must(h.ledger.Fork(h.Context(), head, &ledger.ForkOptions{Branch: "other"}))(h)
		var again posthouse.ID
		for range 2 {
			must(app.Resume(h.Context(), "t", flow.RunOptions{Branch: "other"}))(h)
			for _, q := range h.inbox("t") {
				if q.Branch != "other" || !q.AsksPeople() {
					continue
				}
				if q.Uses > 0 {
					again = q.ID
				}
				h.decide(q.ID, posthouse.Approve, "alice")
			}
		}
		must(app.Resume(h.Context(), "t", flow.RunOptions{Branch: "other"}))(h)
		second := begin(k.claims(), again, "2")
		if second.Key == first.Key || second.Gate.ID != again {
			h.Errorf("%+v, the first had key %s", second, first.Key)
		}
		h.grantIs(grant, grants.Unknown)
	})
}

// A use on a fork has one key in all its attempts, whatever had begun where the fork was made.
func TestKeyOfAWorkersTaskOnAFork(t *testing.T) {
	onStores(t, func(h *house) {
		app := paysAtWorker(h)
		_, head := approvedAtWorker(h, app)
		must(h.ledger.Fork(h.Context(), head, &ledger.ForkOptions{Thread: "f"}))(h)
		k := h.desk()
		defer k.stop()
		if c := k.claim(); c == nil || c.Thread != "t" {
			h.Fatalf("%+v", c)
		}
		resume := func() { _, _ = app.Resume(h.Context(), "f") }
		answer := func() {
			for _, q := range h.inbox("f") {
				if q.AsksPeople() {
					h.decide(q.ID, yesTo(q), "alice")
				}
			}
			resume()
		}
		resume()
		answer()
		k2 := h.desk()
		defer k2.stop()
		first := k2.claim()
		if first == nil || first.Thread != "f" {
			h.Fatalf("first %+v", first)
		}
		if err := k2.d.Resolve(h.Context(), first.ID, task.Verdict{Action: task.Unknown, Reason: "the line broke"}); err != nil {
			h.Fatal(err)
		}
		resume()
		answer() // it was not done
		second := k2.claim()
		if second == nil || second.Key != first.Key || second.Grant != first.Grant {
			h.Errorf("%+v, before %+v", second, first)
		}
	})
}
