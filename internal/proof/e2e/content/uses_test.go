package content_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
)

// TestSpentApprovalSaysWhatRan: an effect beyond those that an approval licenses is refused, and
// the refusal says of each use what became of it: that it ran is said only of those that did.
func TestSpentApprovalSaysWhatRan(t *testing.T) {
	onStores(t, func(h *house) {
		var refused error
		app := must(flow.New("pay", func(ctx context.Context, uses int) (int, error) {
			grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?", Uses: uses}, 7)
			if err != nil {
				return 0, err
			}
			act := func(name string, err error) error {
				_, e := gate.Act(ctx, name, grant, func(context.Context, int) (int, error) { return 0, err })
				return e
			}
			if err := act("first", gate.NotDone(errors.New("the bank is closed"))); err == nil || errors.Is(err, posthouse.ErrWaiting) {
				return 0, errors.Join(errors.New("the first effect does not fail"), err)
			}
			if uses > 1 {
				if err := act("second", nil); err != nil {
					return 0, err
				}
			}
			refused = act("last", nil)
			return 0, nil
		}).Open(h.ledger, nil))(h)
		for uses, want := range map[int]string{
			1: "licensed 1 effect(s), and as many began: first did not act",
			2: "licensed 2 effect(s), and as many began: 1 ran, first did not act",
		} {
			thread := "t" + strings.Repeat("t", uses)
			must(app.Run(h.Context(), thread, uses))(h)
			h.decide(h.only(thread).ID, posthouse.Approve, "alice")
			must(app.Resume(h.Context(), thread))(h)
			if !errors.Is(refused, posthouse.ErrForbidden) || !strings.Contains(refused.Error(), want) {
				h.Errorf("an effect beyond %d uses is refused with %q, want %q", uses, refused, want)
			}
		}
	})
}
