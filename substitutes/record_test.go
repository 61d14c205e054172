package substitutes_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/substitutes"
	"github.com/posthouse/posthouse/transfer"
)

// TestRecordsAreVerifiedAndCopied writes notices, substitutions and a decision by a substitute with a key,
// verifies the store, copies it, and goes on in the copy.
func TestRecordsAreVerifiedAndCopied(t *testing.T) {
	ctx := context.Background()
	key := must.Get(sign.Generate())(t)
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	o := ledger.Options{Signer: key, Now: func() time.Time { return now }}
	store, copied := memstore.New(), memstore.New()
	l := must.Get(ledger.Open(store, &o))(t)
	gates := must.Get(l.Commit(ctx, &ledger.Draft{
		Thread: "order-1", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{
			{Name: "refund", Assignees: []string{"alice"}, Remind: []time.Time{now.Add(time.Hour), now.Add(3 * time.Hour)}}, {Name: "payout", Assignees: []string{"alice"}},
		},
	}))(t).Gates
	must.Get(inbox.Hide(ctx, l, gates[0].ID, inbox.Snooze{By: "alice", Until: now.Add(2 * time.Hour)}))(t)
	now = now.Add(time.Hour)
	must.Get(commit.Remind(ctx, l.Core(), gates[0].ID))(t)
	s := must.Get(substitutes.Name(ctx, l, deciders.Substitution{By: "alice", To: "bob", Until: now.Add(9 * time.Hour)}))(t)
	must.Get(l.Decide(ctx, gates[1].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}))(t)
	must.Do(t, l.Close())

	ring := must.Get(sign.NewRing(key.Public()))(t)
	must.Get(transfer.CopyStore(ctx, store, copied, nil))(t)
	for name, have := range map[string]posthouse.Store{"source": store, "copy": copied} {
		report := must.Get(sign.Verify(ctx, have, ring, &sign.VerifyOptions{RequireSigned: true}))(t)
		if len(report.Faults) != 0 || report.Threads != 2 {
			t.Errorf("the %s has %d threads and the faults %+v; want two threads and no faults", name, report.Threads, report.Faults)
		}
	}
	l = must.Get(ledger.Open(copied, &o))(t)
	g := must.Get(l.Gate(ctx, gates[0].ID))(t)
	if len(g.Notices) != 2 || g.Notices[1].Kind != posthouse.NoticeReminder {
		t.Errorf("the copy has the notices %+v", g.Notices)
	}
	if g := must.Get(l.Decide(ctx, gates[0].ID, posthouse.Decision{Verdict: posthouse.Reject, By: "bob"}))(t); g.Assignments[0].Substitution != s.ID {
		t.Errorf("in the copy it is decided under %+v", g.Assignments)
	}
	must.Do(t, substitutes.Withdraw(ctx, l, s.ID, substitutes.Withdrawal{By: "bob"}))
	if err := substitutes.Withdraw(ctx, l, s.ID, substitutes.Withdrawal{By: "bob"}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("withdrawn twice: %v", err)
	}
	if list := must.Get(substitutes.List(ctx, l, ""))(t); slices.ContainsFunc(list, func(o deciders.Substitution) bool { return o.ID == s.ID }) {
		t.Errorf("after it was withdrawn the list is %+v", list)
	}
	must.Do(t, l.Close())
}
