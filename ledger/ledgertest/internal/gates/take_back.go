package gates

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

// rightsOf returns who may decide a gate and in whose place, in order.
func rightsOf(d *desk.Desk, g *posthouse.Gate) (rights string) {
	for _, r := range deciders.Of(g, d.Clock.Now()) {
		rights += r.Name + "<" + r.For + " "
	}
	return rights
}

func ledgerTakeBack(t *desk.T) {
	d := t.Desk(ledger.Options{})
	id := d.Ask("t", posthouse.Gate{Name: "ok?", Assignees: []string{"alice", "bob"}, RequestedBy: "mallory", Quorum: &posthouse.Quorum{Need: 2}}).Gates[0].ID
	hand := func(by, to string) {
		t.Helper()
		_, err := d.Delegate(t.Ctx, id, posthouse.Delegation{By: by, To: to})
		t.OK(err)
	}
	refused := func(x posthouse.Delegation, want *posthouse.Error) {
		t.Helper()
		tail := d.Tail("t")
		_, err := d.TakeBack(t.Ctx, id, x)
		d.WantErr(err, want)
		if d.Tail("t") != tail {
			t.Error("something was written")
		}
	}
	back := func(x posthouse.Delegation, want string) {
		t.Helper()
		g, err := d.TakeBack(t.Ctx, id, x)
		t.OK(err)
		wantSame(d, g)
		if have := rightsOf(d, g); have != want {
			t.Errorf("the rights are %s, want %s", have, want)
		}
	}
	refused(posthouse.Delegation{By: "alice"}, posthouse.ErrConflict)
	refused(posthouse.Delegation{By: ""}, posthouse.ErrInvalid)
	hand("alice", "nobody-xyz")
	refused(posthouse.Delegation{By: "bob"}, posthouse.ErrConflict)
	refused(posthouse.Delegation{By: "nobody-xyz"}, posthouse.ErrConflict)
	refused(posthouse.Delegation{By: "alice", To: "carol"}, posthouse.ErrConflict)
	refused(posthouse.Delegation{By: "alice", Actor: "mallory"}, posthouse.ErrForbidden)
	back(posthouse.Delegation{By: "alice", Actor: "olga", Reason: "a typo"}, "alice< bob< ")
	refused(posthouse.Delegation{By: "alice"}, posthouse.ErrConflict)
	if _, err := d.Decide(t.Ctx, id, yes("nobody-xyz")); !errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("who had it decides: %v", err)
	}

	// From wherever it went; and by each who handed it on.
	hand("alice", "carol")
	hand("carol", "dave")
	hand("dave", "erin")
	back(posthouse.Delegation{By: "carol"}, "carol<alice bob< ")
	refused(posthouse.Delegation{By: "dave"}, posthouse.ErrConflict)
	hand("carol", "dave")
	back(posthouse.Delegation{By: "alice", To: "carol"}, "alice< bob< ")
	refused(posthouse.Delegation{By: "carol"}, posthouse.ErrConflict)

	// No person gets two rights so.
	hand("alice", "carol")
	hand("bob", "alice")
	refused(posthouse.Delegation{By: "alice"}, posthouse.ErrInvalid)
	back(posthouse.Delegation{By: "bob"}, "carol<alice bob< ")

	// A right that was used is used.
	castVote(d, id, yes("carol"))
	refused(posthouse.Delegation{By: "alice"}, posthouse.ErrVoted)
	castLastVote(d, id, yes("bob"), posthouse.Approve)
	refused(posthouse.Delegation{By: "alice"}, posthouse.ErrDecided)
	takeBackLater(t, d)
}

// takeBackLater takes back after an escalation, and after the deadline.
func takeBackLater(t *desk.T, d *desk.Desk) {
	at := d.Clock.Now().Add(time.Hour)
	id := d.Ask("u", posthouse.Gate{
		Name: "ok?", Assignees: []string{"alice"}, ExpiresAt: at.Add(time.Hour), Escalation: &posthouse.Escalation{At: at, To: []string{"carol", "boss"}},
	}).Gates[0].ID
	_, err := d.Delegate(t.Ctx, id, posthouse.Delegation{By: "alice", To: "carol"})
	t.OK(err)
	d.Clock.Advance(time.Hour)
	g, err := d.TakeBack(t.Ctx, id, posthouse.Delegation{By: "alice"})
	t.OK(err)
	if have := rightsOf(d, g); have != "alice< carol< boss< " || len(g.Assignments) != 3 || !g.Assignments[1].Escalation {
		t.Errorf("after the escalation: %s of %+v", have, g.Assignments)
	}
	wantSame(d, g)
	d.Clock.Advance(time.Hour)
	_, err = d.TakeBack(t.Ctx, id, posthouse.Delegation{By: "alice"})
	d.WantErr(err, posthouse.ErrConflict)
}

func ledgerTakeBackRace(t *desk.T) {
	ledgers := []*desk.Desk{t.Desk(ledger.Options{}), t.Desk(ledger.Options{})}
	for round := range 4 {
		quorum := &posthouse.Quorum{Need: 2}
		if round%2 == 1 {
			quorum = nil
		}
		id := ledgers[0].Ask(fmt.Sprint("t", round), posthouse.Gate{Name: "ok?", Assignees: []string{"alice", "bob"}, Quorum: quorum}).Gates[0].ID
		_, err := ledgers[0].Delegate(t.Ctx, id, posthouse.Delegation{By: "alice", To: "carol"})
		t.OK(err)
		var voted, taken error
		var wg sync.WaitGroup
		wg.Go(func() { _, voted = ledgers[round/2].Decide(t.Ctx, id, yes("carol")) })
		wg.Go(func() { _, taken = ledgers[1-round/2].TakeBack(t.Ctx, id, posthouse.Delegation{By: "alice"}) })
		wg.Wait()
		g, err := ledgers[1].Gate(t.Ctx, id)
		t.OK(err)
		switch used := g.Decision != nil || len(g.Votes) > 0; {
		case used && (voted != nil || !errors.Is(taken, posthouse.ErrVoted) && !errors.Is(taken, posthouse.ErrDecided)):
			t.Errorf("carol voted (%v), and alice is told %v", voted, taken)
		case !used && (taken != nil || !errors.Is(voted, posthouse.ErrForbidden) || rightsOf(ledgers[0], g) != "alice< bob< "):
			t.Errorf("alice took it back (%v), and carol is told %v; the rights are %s", taken, voted, rightsOf(ledgers[0], g))
		}
	}
}
