package gates

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/commit"
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

// ledgerTakeBackExpiry has one ledger end a question while another, with a clock that is slow by a
// second, takes a delegation of it back. In odd rounds the question escalates instead.
func ledgerTakeBackExpiry(t *desk.T) {
	here, there := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	for round := range 4 {
		end := here.Clock.Now().Add(time.Minute)
		q := posthouse.Gate{Name: "ok?", Assignees: []string{"alice"}, ExpiresAt: end}
		act := commit.Expire
		if round%2 == 1 {
			q.ExpiresAt, q.Escalation = end.Add(time.Hour), &posthouse.Escalation{At: end, To: []string{"boss"}}
			act = commit.Escalate
		}
		id := here.Ask(fmt.Sprint("t", round), q).Gates[0].ID
		_, err := here.Delegate(t.Ctx, id, posthouse.Delegation{By: "alice", To: "carol"})
		t.OK(err)
		here.Clock.Advance(time.Minute)
		there.Clock.Advance(end.Add(-time.Second).Sub(there.Clock.Now()))
		var acted, taken error
		var wg sync.WaitGroup
		wg.Go(func() { _, acted = act(t.Ctx, here.Core(), id) })
		wg.Go(func() { _, taken = there.TakeBack(t.Ctx, id, posthouse.Delegation{By: "alice"}) })
		wg.Wait()
		t.OK(acted)
		g, err := there.Gate(t.Ctx, id)
		t.OK(err)
		wantSame(here, g)
		back := slices.IndexFunc(g.Assignments, func(a posthouse.Assignment) bool { return a.TakesBack != 0 })
		switch {
		case round%2 == 1:
			t.OK(taken) // before the escalation or after it
			if have := rightsOf(here, g); len(g.Assignments) != 3 || have != "alice< boss< " {
				t.Errorf("after an escalation and a delegation taken back the rights are %s, by %+v", have, g.Assignments)
			}
		case g.Decision == nil || g.Decision.Verdict != posthouse.Expire:
			t.Errorf("the question ended with %+v", g.Decision)
		case (errors.Is(taken, posthouse.ErrDecided) || errors.Is(taken, posthouse.ErrExpired)) && back < 0:
			if g.Decision.Trail != g.Assignments[0].Seq {
				t.Errorf("it expired behind entry %d, and its trail is %+v", g.Decision.Trail, g.Assignments)
			}
		case taken == nil && back == 1:
			if g.Decision.Trail != g.Assignments[1].Seq || g.Assignments[1].Seq >= g.Decision.Seq {
				t.Errorf("it expired in entry %d behind entry %d, and was taken back by %+v", g.Decision.Seq, g.Decision.Trail, g.Assignments[1])
			}
		default:
			t.Errorf("alice is told %v, and the assignments are %+v", taken, g.Assignments)
		}
	}
}

// ledgerTakeBackOnce has two ledgers take the same delegation back, while its holder hands it on. They
// give different reasons: the same entry twice would be one, and each would hear that it is on record.
func ledgerTakeBackOnce(t *desk.T) {
	ledgers := []*desk.Desk{t.Desk(ledger.Options{}), t.Desk(ledger.Options{}), t.Desk(ledger.Options{})}
	for round := range 3 {
		id := ledgers[0].Ask(fmt.Sprint("t", round), posthouse.Gate{Name: "ok?", Assignees: []string{"alice"}}).Gates[0].ID
		_, err := ledgers[0].Delegate(t.Ctx, id, posthouse.Delegation{By: "alice", To: "carol"})
		t.OK(err)
		var taken [2]error
		var handed error
		var wg sync.WaitGroup
		for i := range taken {
			wg.Go(func() {
				_, taken[i] = ledgers[i].TakeBack(t.Ctx, id, posthouse.Delegation{By: "alice", Reason: fmt.Sprint("from ledger ", i)})
			})
		}
		wg.Go(func() { _, handed = ledgers[2].Delegate(t.Ctx, id, posthouse.Delegation{By: "carol", To: "dave"}) })
		wg.Wait()
		if (taken[0] == nil) == (taken[1] == nil) || !errors.Is(errors.Join(taken[:]...), posthouse.ErrConflict) {
			t.Errorf("two take it back, and are told %v", taken)
		}
		if handed != nil && !errors.Is(handed, posthouse.ErrForbidden) {
			t.Errorf("carol hands it on: %v", handed)
		}
		g, err := ledgers[0].Gate(t.Ctx, id)
		t.OK(err)
		want := 2
		if handed == nil {
			want++
		}
		if have := rightsOf(ledgers[0], g); have != "alice< " || len(g.Assignments) != want {
			t.Errorf("the rights are %s by %+v", have, g.Assignments)
		}
	}
}
