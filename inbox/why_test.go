package inbox_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// withdraw commits a checkpoint that leaves a gate. The decision says that the branch went on, also
// where the checkpoint cancels it: earlier versions cancelled branches so.
func (d *desk) withdraw(thread, kind string) {
	d.t.Helper()
	c := &posthouse.Change{Kind: kind, Status: posthouse.StatusRunning, By: "ann", Error: "called off"}
	if kind == posthouse.KindCancel {
		c.Status = posthouse.StatusCancelled
	}
	must.Get(d.Commit(context.Background(), &ledger.Draft{Thread: thread, Checkpoint: c}))(d.t)
}

// TestWhyTellsWhoCancelledABranch has withdrawals as earlier versions wrote them, and those of today.
func TestWhyTellsWhoCancelledABranch(t *testing.T) {
	const wentOn, cancelled = "the branch went on without it", "the branch was cancelled by ann: called off"
	d := open(t)
	ctx := t.Context()
	for _, c := range []struct {
		thread, recorded, why, withdrawn string
		end                              func(posthouse.ID)
	}{
		{"earlier", wentOn, cancelled, "the branch was cancelled by ann", func(posthouse.ID) { d.withdraw("earlier", posthouse.KindCancel) }},
		{"today", cancelled, cancelled, "the branch was cancelled by ann", func(posthouse.ID) {
			must.Get(d.Cancel(ctx, "today", &ledger.CancelOptions{By: "ann", Reason: "called off"}))(t)
		}},
		{"went-on", wentOn, wentOn, wentOn, func(posthouse.ID) { d.withdraw("went-on", posthouse.KindNode) }},
		{"person", wentOn, wentOn, "", func(id posthouse.ID) {
			must.Get(d.Withdraw(ctx, id, ledger.Withdrawal{By: "bob", Operator: true, Reason: wentOn}))(t)
		}},
		{"rejected", "too much", "too much", "", func(id posthouse.ID) {
			must.Get(d.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Reject, By: "bob", Reason: "too much"}))(t)
		}},
		{"open", "", "", "", func(posthouse.ID) {}},
	} {
		id := d.ask(c.thread, "shop", posthouse.Gate{Name: "refund"})
		c.end(id)
		g := must.Get(d.Gate(ctx, id))(t)
		recorded := ""
		if g.Decision != nil {
			recorded = g.Decision.Reason
		}
		why := must.Get(inbox.Why(ctx, d.Ledger, g))(t)
		withdrawn := must.Get(inbox.WhyWithdrawn(ctx, d.Ledger, g))(t)
		if recorded != c.recorded || why != c.why || withdrawn != c.withdrawn {
			t.Errorf("%s: recorded %q, told %q, to strangers %q; want %q, %q, %q", c.thread, recorded, why, withdrawn, c.recorded, c.why, c.withdrawn)
		}
	}
}
