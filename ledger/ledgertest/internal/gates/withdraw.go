package gates

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

func ledgerWithdraw(t *desk.T) {
	d := t.Desk(ledger.Options{})
	ask := func(thread string, g posthouse.Gate) posthouse.ID {
		g.Name, g.RequestedBy = "pay", "rita"
		return d.Ask(thread, g).Gates[0].ID
	}
	for _, g := range []posthouse.Gate{{}, {Assignees: []string{"bob"}}, {Quorum: &posthouse.Quorum{Need: 2}}, {AllowRequest: true}} {
		id := ask("t", g)
		for _, by := range []string{"mallory", "bob", "rita", posthouse.RuntimeActor} {
			_, err := d.Decide(t.Ctx, id, posthouse.Decision{Verdict: posthouse.Cancel, By: by})
			d.WantErr(err, posthouse.ErrInvalid)
		}
		for _, by := range []string{"mallory", "bob"} { // an assignee rejects
			_, err := d.Withdraw(t.Ctx, id, ledger.Withdrawal{By: by})
			d.WantErr(err, posthouse.ErrForbidden)
		}
		_, err := d.Withdraw(t.Ctx, id, ledger.Withdrawal{By: "rita", Actor: "mallory"})
		d.WantErr(err, posthouse.ErrInvalid)
		_, err = d.Withdraw(t.Ctx, id, ledger.Withdrawal{By: "rita", Shown: posthouse.Hash{1}})
		d.WantErr(err, posthouse.ErrConflict)
		got, err := d.Withdraw(t.Ctx, id, ledger.Withdrawal{By: "rita", Reason: "not any more"})
		if d.OK(err); got.Decision == nil || got.Decision.Verdict != posthouse.Cancel || got.Decision.By != "rita" || got.Decision.Reason != "not any more" {
			t.Errorf("withdrawn as %+v", got.Decision)
		}
		_, err = d.Withdraw(t.Ctx, id, ledger.Withdrawal{By: "rita"})
		d.WantErr(err, posthouse.ErrDecided)
		wantSame(d, got)
	}
	for _, w := range []ledger.Withdrawal{{By: "olga", Operator: true}, {By: "alice", Actor: "olga", Operator: true}, {By: posthouse.RuntimeActor}} {
		got, err := d.Withdraw(t.Ctx, ask("t", posthouse.Gate{Assignees: []string{"bob"}}), w)
		if d.OK(err); got.Decision == nil || got.Decision.By != w.By || got.Decision.Actor != w.Actor {
			t.Errorf("%+v: withdrawn as %+v", w, got.Decision)
		}
		timer := ask("t", posthouse.Gate{Kind: posthouse.GateTimer, ExpiresAt: d.Clock.Now().Add(time.Hour)})
		_, err = d.Withdraw(t.Ctx, timer, ledger.Withdrawal{By: "rita"})
		d.WantErr(err, posthouse.ErrForbidden)
		_, err = d.Withdraw(t.Ctx, timer, w)
		d.OK(err)
	}
}
