package content_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
)

// asks runs a flow that puts a question about a transfer, for bob, and returns its gate.
func (h *house) asks(q gate.Question) posthouse.ID {
	h.Helper()
	q.Name, q.Text = "pay", "Pay?"
	app := must(flow.New("pay", func(ctx context.Context, amount int) (gate.Grant, error) {
		return gate.Propose(ctx, q, bankTransfer{"shop", amount})
	}).Open(h.ledger, nil))(h)
	must(app.Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
	return h.only("t").ID
}

func (h *house) delegate(id posthouse.ID, by, to, actor string) error {
	_, err := h.ledger.Delegate(h.Context(), id, posthouse.Delegation{By: by, To: to, Actor: actor})
	return err
}

func (h *house) approve(id posthouse.ID, by string) error {
	_, err := h.ledger.Decide(h.Context(), id, posthouse.Decision{Verdict: posthouse.Approve, By: by})
	return err
}

// Who asked for something does not choose who approves it: neither in their own right, nor in the
// name of somebody else, with and without a quorum.
func TestAttemptToChooseWhoApprovesOnesRequest(t *testing.T) {
	for _, q := range []*posthouse.Quorum{nil, {Need: 2}} {
		onStores(t, func(h *house) {
			id := h.asks(gate.Question{Assignees: []string{"alice", "bob", "carl"}, Quorum: q})
			for _, d := range [][2]string{{"bob", ""}, {"alice", "bob"}} {
				if err := h.delegate(id, d[0], "puppet", d[1]); !errors.Is(err, posthouse.ErrForbidden) {
					h.Errorf("%v: %v", d, err)
				}
			}
			if err := h.approve(id, "puppet"); !errors.Is(err, posthouse.ErrForbidden) {
				h.Error(err)
			}
		})
	}
}

// A right is one vote, also where the gate escalates to somebody who handed theirs on.
func TestAttemptToVoteTwiceByOneRight(t *testing.T) {
	onStores(t, func(h *house) {
		id := h.asks(gate.Question{
			Assignees: []string{"alice", "carl"}, Quorum: &posthouse.Quorum{Need: 2},
			Escalate: &gate.Escalation{After: time.Hour, To: []string{"alice", "boss"}},
		})
		if err := h.delegate(id, "alice", "puppet", ""); err != nil {
			h.Fatal(err)
		}
		h.now = h.now.Add(2 * time.Hour)
		if err := h.approve(id, "alice"); !errors.Is(err, posthouse.ErrForbidden) {
			h.Errorf("her right is another's: %v", err)
		}
		for _, by := range []string{"puppet", "boss"} {
			if err := h.approve(id, by); err != nil {
				h.Errorf("%s: %v", by, err)
			}
		}
		if g := must(h.ledger.Gate(h.Context(), id))(h); g.Decision == nil || g.Decision.Verdict != posthouse.Approve {
			h.Errorf("g.Decision %+v", g.Decision)
		}
	})
}
