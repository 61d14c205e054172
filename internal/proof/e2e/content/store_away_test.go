package content_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
)

// An absent is a store whose logs cannot be read while it is away.
type absent struct {
	posthouse.Store
	away atomic.Bool
}

// Read implements [posthouse.Store].
func (s *absent) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	if s.away.Load() {
		return func(yield func(*posthouse.Entry, error) bool) {
			yield(nil, &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the server is away"})
		}
	}
	return s.Store.Read(ctx, thread, r)
}

// TestStoreThatIsAwayFailsNoEffect: the store does not answer when an approved effect asks what
// ran under its approval. The run ends with that error and is not recorded as failed: another one
// makes the effect once the store is back.
func TestStoreThatIsAwayFailsNoEffect(t *testing.T) {
	onStores(t, func(h *house) {
		store := &absent{Store: h.store}
		h.store = store
		h.restart()
		paid, goes := 0, true
		app := must(flow.New("pay", func(ctx context.Context, _ int) (int, error) {
			grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, 7)
			if err != nil {
				return 0, err
			}
			store.away.Store(goes)
			defer store.away.Store(false)
			return gate.Act(ctx, "pay", grant, func(_ context.Context, n int) (int, error) {
				paid++
				return n, nil
			})
		}).Open(h.ledger, nil))(h)
		must(app.Run(h.Context(), "t", 1))(h)
		must(h.ledger.Decide(h.Context(), h.only("t").ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(h)
		if _, err := app.Resume(h.Context(), "t"); !errors.Is(err, posthouse.ErrUnavailable) {
			h.Errorf("while the store is away the run ends with %v, want ErrUnavailable", err)
		}
		info := must(h.ledger.Thread(h.Context(), "t"))(h)
		if info.Status == posthouse.StatusFailed || paid != 0 {
			h.Errorf("the thread is %s, and %d were paid; want a run that goes on, and no payment", info.Status, paid)
		}
		goes = false
		res := must(app.Resume(h.Context(), "t"))(h)
		if res.Output != 7 || paid != 1 {
			h.Errorf("once it is back the output is %d and %d were paid; want 7 and 1", res.Output, paid)
		}
	})
}
