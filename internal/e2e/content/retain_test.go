package content_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/step"
)

// sleeping is a graph that proposes, sleeps until morning, and then pays.
func sleeping(h *house, b *bank) *graph.App[deal] {
	g := graph.New[deal]("sleeping")
	g.Node("propose", func(ctx context.Context, s *deal) (err error) {
		s.Grant, err = gate.Propose(ctx, gate.Question{Name: "pay", ValidFor: 48 * time.Hour}, bankTransfer{"bob", s.Amount})
		return err
	})
	g.Node("sleep", func(ctx context.Context, _ *deal) error { return step.Sleep(ctx, "night", 12*time.Hour) })
	g.Node("count", func(_ context.Context, s *deal) error { s.Amount++; return nil })
	g.Node("pay", func(ctx context.Context, s *deal) (err error) {
		s.Receipt, err = gate.Act(ctx, "pay", s.Grant, b.pay)
		return err
	})
	g.Edge(graph.Start, "propose")
	g.Edge("propose", "count")
	g.Edge("count", "sleep")
	g.Edge("sleep", "pay")
	g.Edge("pay", graph.End)
	return must(g.Compile(h.ledger, nil))(h)
}

// compact removes what the store's own compaction would, where it has one.
func compact(h *house) {
	h.Helper()
	if _, err := retain.Compact(h.Context(), h.ledger); err != nil && !errors.Is(err, posthouse.ErrUnsupported) {
		h.Fatal(err)
	}
}

// No policy removes an approval that the thread still needs, whether it removes by age, by
// count or under the cap, with a compaction after it.
func TestRetentionKeepsApprovalsThatMayBeUsed(t *testing.T) {
	for name, policy := range map[string]*retain.Policy{
		"age": {MaxAge: time.Hour}, "count 1": {MaxPerThread: 1}, "count 2": {MaxPerThread: 2}, "cap": nil,
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				if policy == nil {
					l, err := ledger.Open(h.store, &ledger.Options{Now: func() time.Time { return h.now }, Validate: gate.Validator(), MaxCheckpoints: 1})
					if err != nil {
						t.Fatal(err)
					}
					h.ledger = l
				}
				b := &bank{}
				app := sleeping(h, b)
				must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
				id := h.only("t").ID
				h.decide(id, posthouse.Approve, "alice")
				must(app.Resume(h.Context(), "t"))(h)
				h.now = h.now.Add(13 * time.Hour)
				if policy != nil {
					if done := must(retain.Run(h.Context(), h.ledger, *policy, nil))(h); done.Checkpoints == 0 {
						t.Error("the policy removed nothing")
					}
				}
				compact(h)
				must(h.ledger.Gate(h.Context(), id))(h)
				must(app.Resume(h.Context(), "t"))(h)
				b.want(h, bankTransfer{"bob", 10})

				// Once it is used, the approval goes with the rest.
				h.now = h.now.Add(13 * time.Hour)
				must(retain.Run(h.Context(), h.ledger, retain.Policy{MaxPerThread: 1}, nil))(h)
				compact(h)
				if _, err := h.ledger.Gate(h.Context(), id); err == nil {
					t.Error("the gate of a used approval is kept for ever")
				}
			})
		})
	}
}
