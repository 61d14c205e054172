package content_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
)

// TestKeyOfAnEffectThatIsRepeated: an idempotent effect whose outcome is unknown is repeated under its key,
// also under the decision that was asked for again. One that is known not to have acted is another use under
// that decision, with another key.
func TestKeyOfAnEffectThatIsRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		lost error
		same bool
	}{"unknown": {posthouse.ErrUnknown, true}, "did not act": {errors.New("the bank is shut"), false}} {
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
					h.Errorf("%+v", res)
				}
				if len(keys) != 3 || keys[0] != keys[1] || (keys[1] == keys[2]) != c.same {
					h.Errorf("%q", keys)
				}
				h.verified()
			})
		})
	}
}
