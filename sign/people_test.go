package sign_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestVotesVerify verifies what the Ledger itself writes of votes, a delegation
// and their decisions, given, cancelled and superseded.
func TestVotesVerify(t *testing.T) {
	key, store := goldenKey(t), memstore.New()
	l := openLedger(t, store, key, newClock().Now)
	ctx := t.Context()
	open := func(thread string) (posthouse.ID, *posthouse.Committed) {
		c := must.Get(l.Commit(ctx, &ledger.Draft{Thread: thread, Gates: []posthouse.Gate{{
			Name: "ok", Assignees: []string{"alice", "bob"}, Quorum: &posthouse.Quorum{Need: 2},
		}}, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"n"}}}))(t)
		id := c.Gates[0].ID
		must.Get(l.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
		must.Get(l.Delegate(ctx, id, posthouse.Delegation{By: "bob", To: "carol"}))(t)
		return id, c
	}
	given, _ := open("given")
	must.Get(l.Decide(ctx, given, posthouse.Decision{Verdict: posthouse.Approve, By: "carol"}))(t)
	cancelled, _ := open("cancelled")
	must.Get(l.Withdraw(ctx, cancelled, ledger.Withdrawal{By: "alice", Operator: true}))(t)
	open("superseded")
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "superseded", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}}))(t)
	_, waiting := open("forked")
	must.Get(l.Fork(ctx, waiting.Checkpoint.ID, nil))(t)
	open("waiting")
	wantClean(t, verify(t, store, ringOf(t, key), nil))
}
