package sign_test

import (
	"testing"

	"github.com/posthouse/posthouse"
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
		c := must[*posthouse.Committed](t)(l.Commit(ctx, &ledger.Draft{Thread: thread, Gates: []posthouse.Gate{{
			Name: "ok", Assignees: []string{"alice", "bob"}, Quorum: &posthouse.Quorum{Need: 2},
		}}, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"n"}}}))
		id := c.Gates[0].ID
		must[*posthouse.Gate](t)(l.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))
		must[*posthouse.Gate](t)(l.Delegate(ctx, id, posthouse.Delegation{By: "bob", To: "carol"}))
		return id, c
	}
	given, _ := open("given")
	must[*posthouse.Gate](t)(l.Decide(ctx, given, posthouse.Decision{Verdict: posthouse.Approve, By: "carol"}))
	cancelled, _ := open("cancelled")
	must[*posthouse.Gate](t)(l.Decide(ctx, cancelled, posthouse.Decision{Verdict: posthouse.Cancel, By: "alice"}))
	open("superseded")
	must[*posthouse.Committed](t)(l.Commit(ctx, &ledger.Draft{Thread: "superseded", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone}}))
	_, waiting := open("forked")
	must[*posthouse.Checkpoint](t)(l.Fork(ctx, waiting.Checkpoint.ID, nil))
	open("waiting")
	wantClean(t, verify(t, store, ringOf(t, key), nil))
}
