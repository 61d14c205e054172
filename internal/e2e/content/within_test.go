package content_test

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/transfer"
)

// paysAndWaits proposes a transfer, makes it in a step, and waits for the money to clear.
func paysAndWaits(h *house, b *bank) *flow.App[int, string] {
	return must(flow.New("pay", func(ctx context.Context, amount int) (string, error) {
		grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{"bob", amount})
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "pay", grant, func(ctx context.Context, t bankTransfer) (string, error) {
			receipt, err := step.Do(ctx, "pay", func(ctx context.Context) (string, error) { return b.pay(ctx, t) })
			if err != nil {
				return "", err
			}
			return receipt, step.Sleep(ctx, "clear", 25*time.Hour)
		})
	}).Open(h.ledger, nil))(h)
}

// What was done within an effect stays with it when its step begins anew.
func TestAttemptToForgetWhatAnEffectDid(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := paysAndWaits(h, b)
		grant, head := approvedAtWorker(h, app)
		kept := must(h.ledger.Anew(h.Context(), head, nil))(h).Kept
		if len(kept) != 1 || kept[0].Name != "pay>pay" {
			h.Errorf("%+v", kept)
		}
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h, bankTransfer{"bob", 10})
		h.now = h.now.Add(26 * time.Hour)
		if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "receipt 1" {
			h.Errorf("%+v", res)
		}
		b.want(h, bankTransfer{"bob", 10})
		h.grantIs(grant, posthouse.GrantExecuted)
	})
}

// The answer in a copy of a thread is for reading, also where the thread went on after it.
func TestAttemptToCopyAnAnswerAndWhatFollowed(t *testing.T) {
	onStores(t, func(h *house) {
		app := paysAtWorker(h)
		approvedAtWorker(h, app)
		must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
		k := h.desk()
		defer k.stop()
		if c := k.claim(); c == nil || c.Thread != "t" {
			h.Fatalf("%+v", c)
		}
		for range 2 {
			if c := k.claim(); c != nil {
				h.Fatalf("the copy has a task on the approval: %+v", c)
			}
			must(app.Resume(h.Context(), "copy"))(h)
		}
		h.only("copy")
	})
}
