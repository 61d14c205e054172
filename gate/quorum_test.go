package gate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A council is what the rules of a quorum come to, in the plainest words.
type council struct {
	q         posthouse.Quorum
	requester string
	rights    map[string][]string // who may vote, and who had the right before
	anyone    bool
	hands     map[string]bool // who voted or sent a vote
	voters    map[string]bool
	yes, no   int
	outcome   posthouse.Verdict
}

func (c *council) vote(d *posthouse.Decision) error {
	_, assigned := c.rights[d.By]
	switch {
	case c.outcome != "":
		return posthouse.ErrDecided
	case !c.anyone && !assigned:
		return posthouse.ErrForbidden
	}
	for _, hand := range []string{d.By, d.Actor} {
		if c.hands[hand] {
			return posthouse.ErrVoted
		}
		if hand != "" && hand == c.requester {
			return posthouse.ErrForbidden
		}
	}
	c.hands[d.By], c.voters[d.By] = true, true
	if d.Actor != "" {
		c.hands[d.Actor] = true
	}
	if d.Verdict == posthouse.Approve {
		c.yes++
	} else {
		c.no++
	}
	left := c.q.Of - c.yes - c.no
	if !c.anyone {
		left = 0
		for who := range c.rights {
			if !c.hands[who] && who != c.requester {
				left++
			}
		}
	}
	switch {
	case c.yes == c.q.Need:
		c.outcome = posthouse.Approve
	case c.no > 0 && !c.q.Outvote, c.q.Outvote && c.yes+left < c.q.Need:
		c.outcome = posthouse.Reject
	}
	return nil
}

func (c *council) delegate(by, to string) error {
	had, ok := c.rights[by]
	_, has := c.rights[to]
	switch {
	case c.outcome != "":
		return posthouse.ErrDecided
	case c.anyone:
		return posthouse.ErrInvalid
	case !ok:
		return posthouse.ErrForbidden
	case c.hands[by]:
		return posthouse.ErrVoted
	case by == c.requester:
		return posthouse.ErrForbidden
	case by == to, slices.Contains(had, to):
		return posthouse.ErrInvalid
	case to == c.requester:
		return posthouse.ErrForbidden
	case has:
		return posthouse.ErrInvalid
	case c.hands[to]:
		return posthouse.ErrVoted
	}
	c.rights[to] = append(slices.Clip(had), by)
	delete(c.rights, by)
	return nil
}

// TestQuorumProperty votes and delegates at random and compares each answer,
// and what is read back, with a council.
func TestQuorumProperty(t *testing.T) {
	people := []string{"alice", "bob", "carol", "dave", "eve", "frank"}
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
		store := memstore.New()
		l, err := ledger.Open(store, &ledger.Options{Now: func() time.Time { now = now.Add(time.Millisecond); return now }})
		if err != nil {
			rt.Fatal(err)
		}
		c := &council{
			q:         posthouse.Quorum{Need: rapid.IntRange(2, 4).Draw(rt, "need"), Outvote: rapid.Bool().Draw(rt, "outvote")},
			requester: rapid.SampledFrom([]string{"", "alice", "zoe"}).Draw(rt, "requester"),
			rights:    map[string][]string{}, hands: map[string]bool{}, voters: map[string]bool{},
		}
		g := posthouse.Gate{Name: "ok", Quorum: &c.q, RequestedBy: c.requester}
		c.anyone = rapid.Bool().Draw(rt, "anyone")
		if c.anyone {
			c.q.Of = c.q.Need + rapid.IntRange(0, 2).Draw(rt, "more")
		} else {
			g.Assignees = people[:5]
			for _, p := range g.Assignees {
				c.rights[p] = nil
			}
		}
		done, err := l.Commit(context.Background(), &ledger.Draft{Thread: "t", Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"n"},
		}})
		if err != nil {
			rt.Fatal(err)
		}
		id := done.Gates[0].ID
		who := rapid.SampledFrom(people)
		for range rapid.IntRange(1, 12).Draw(rt, "moves") {
			if rapid.IntRange(0, 3).Draw(rt, "move") == 0 {
				by, to := who.Draw(rt, "by"), who.Draw(rt, "to")
				_, err := l.Delegate(context.Background(), id, posthouse.Delegation{By: by, To: to})
				if want := c.delegate(by, to); !errors.Is(err, want) {
					rt.Fatalf("%s delegates to %s: %v, want %v", by, to, err, want)
				}
				continue
			}
			d := posthouse.Decision{By: who.Draw(rt, "by"), Verdict: rapid.SampledFrom([]posthouse.Verdict{posthouse.Approve, posthouse.Approve, posthouse.Reject}).Draw(rt, "verdict")}
			if rapid.IntRange(0, 4).Draw(rt, "sent") == 0 {
				d.Actor = who.Draw(rt, "actor")
			}
			_, err := l.Decide(context.Background(), id, d)
			if want := c.vote(&d); !errors.Is(err, want) {
				rt.Fatalf("%+v: %v, want %v", d, err, want)
			}
		}
		read, err := l.Gate(context.Background(), id)
		if err != nil {
			rt.Fatal(err)
		}
		voted := map[string]bool{}
		for _, v := range read.Votes {
			voted[v.By] = true
		}
		if fmt.Sprint(voted) != fmt.Sprint(c.voters) || len(read.Votes) != len(c.voters) || (read.Decision == nil) != (c.outcome == "") ||
			read.Decision != nil && read.Decision.Verdict != c.outcome {
			rt.Fatalf("read %+v, want %+v", read, c)
		}
		if (c.outcome == posthouse.Approve) != (read.Missing() == 0) {
			rt.Fatalf("%d missing for %s", read.Missing(), c.outcome)
		}
	})
}

// TestQuorumWakesTheNodeOnce asks through Ask: one decision, after which votes
// are there too.
func TestQuorumWakesTheNodeOnce(t *testing.T) {
	var a gate.Answer[any]
	h := newHost(t, asking(gate.Question{Name: "refund", RequestedBy: "alice", FourEyes: true}, &a))
	g := h.wait()[0]
	if len(g.Schema) != 0 || fmt.Sprint(g.Verdicts) != "[approve reject]" {
		t.Errorf("asked %+v", g)
	}
	h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
	if info, err := h.l.Thread(t.Context(), "order-1"); err != nil || info.Runnable() {
		t.Errorf("one vote made it runnable: %+v, %v", info, err)
	}
	h.restart()
	h.wait()
	h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "carol", Reason: "fine"})
	if err := h.run(); err != nil || !a.Approved() || a.By != "carol" || len(a.Votes) != 2 || a.Votes[0].By != "bob" {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestEscalatedAndDelegatedAnswer(t *testing.T) {
	var a gate.Answer[any]
	h := newHost(t, asking(gate.Question{
		Name: "refund", Assignees: []string{"bob"}, Expires: 2 * time.Hour,
		Escalate: &gate.Escalation{After: time.Hour, To: []string{"boss"}},
	}, &a))
	g := h.wait()[0]
	if _, err := h.l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "boss"}); !errors.Is(err, posthouse.ErrForbidden) {
		t.Error(err)
	}
	h.advance(time.Hour)
	if _, err := h.l.Delegate(t.Context(), g.ID, posthouse.Delegation{By: "boss", To: "vice", Reason: "travelling"}); err != nil {
		t.Fatal(err)
	}
	h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "vice"})
	if err := h.run(); err != nil || a.By != "vice" || a.For != "boss" {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestReminders(t *testing.T) {
	var a gate.Answer[any]
	h := newHost(t, asking(gate.Question{
		Name: "refund", Expires: 48 * time.Hour, Remind: []gate.Reminder{{Before: time.Hour}, {After: 4 * time.Hour}, {Before: 44 * time.Hour}},
	}, &a))
	g := h.wait()[0]
	asked := g.ExpiresAt.Add(-48 * time.Hour)
	if len(g.Remind) != 2 || !g.Remind[0].Equal(asked.Add(4*time.Hour)) || !g.Remind[1].Equal(asked.Add(47*time.Hour)) {
		t.Errorf("reminders at %v, asked at %v", g.Remind, asked)
	}
	for name, q := range map[string]gate.Question{
		"neither":            {Expires: time.Hour, Remind: []gate.Reminder{{}}},
		"both":               {Expires: time.Hour, Remind: []gate.Reminder{{After: 1, Before: 1}}},
		"negative":           {Expires: time.Hour, Remind: []gate.Reminder{{After: -1}}},
		"no deadline":        {Remind: []gate.Reminder{{Before: time.Hour}}},
		"before it is asked": {Expires: time.Hour, Remind: []gate.Reminder{{Before: time.Hour}}},
		"after the deadline": {Expires: time.Hour, Remind: []gate.Reminder{{After: 2 * time.Hour}}},
		"a hundred": {Remind: func() (all []gate.Reminder) {
			for i := range 100 {
				all = append(all, gate.Reminder{After: time.Duration(i+1) * time.Minute})
			}
			return all
		}()},
	} {
		q.Name = "refund"
		if err := newHost(t, asking(q, &a)).run(); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}
