package gates

import (
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/substitutes"
)

func substituteCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/substitutes", Rule: "While a substitution holds, and not before, after or once it is withdrawn, what is assigned to one person is decided by the other, in their place and on record; it is in both inboxes.", Run: ledgerSubstitutes},
		{Name: "ledger/substitutes in a quorum", Rule: "A substitute has one vote, their own if they have one; the right is used up; substitutes that one operator named have one vote, and that is the operator's.", Run: ledgerSubstitutesVote},
		{Name: "ledger/substitutes and requesters", Rule: "A substitute does not decide their own request, nor one of who named them or is away, and no chain or circle leads to a right.", Run: ledgerSubstitutesOfRequesters},
		{Name: "ledger/substitutions that make no sense", Rule: "A period that has passed or is too long, oneself, the same twice, and two people who stand in for each other are refused; only the two of it withdraw one.", Run: ledgerBadSubstitutions},
		{Name: "ledger/substitutions are on record", Rule: "Each change is an entry of the runtime's thread, which nobody else writes, begins, releases or deletes; with a cipher their reasons are in no entry.", Run: ledgerSubstitutionsOnRecord},
	}
}

// standIn names a substitute from now on for some hours.
func standIn(d *desk.Desk, by, to, actor string, hours int) *deciders.Substitution {
	d.Helper()
	s, err := substitutes.Name(d.Ctx, d.Ledger, deciders.Substitution{By: by, To: to, Actor: actor, Until: d.Clock.Now().Add(time.Duration(hours) * time.Hour)})
	d.OK(err)
	return s
}

// refused fails unless a decision is refused so.
func refused(d *desk.Desk, id posthouse.ID, dec posthouse.Decision, want *posthouse.Error) {
	d.Helper()
	tail, err := d.Gate(d.Ctx, id)
	d.OK(err)
	if _, err := d.Decide(d.Ctx, id, dec); !errors.Is(err, want) {
		d.Errorf("%s by %s (%s): %v, want %s", dec.Verdict, dec.By, dec.Actor, err, want.Code)
	}
	if now, err := d.Gate(d.Ctx, id); err != nil || now.Record.Trail != tail.Record.Trail {
		d.Errorf("a decision that is refused left something: %+v, %v", now, err)
	}
}

// personsInbox returns the names of the gates in a person's inbox.
func personsInbox(d *desk.Desk, name string) (all []string) {
	d.Helper()
	for g, err := range d.Gates(d.Ctx, ledger.GateQuery{Assignee: name}) {
		d.OK(err)
		all = append(all, g.Name)
	}
	return all
}

func ledgerSubstitutes(t *desk.T) {
	d := t.Desk(ledger.Options{})
	later := d.Clock.Now().Add(time.Hour)
	gates := d.Ask("t",
		posthouse.Gate{Name: "1", Assignees: []string{"alice", "carol"}}, posthouse.Gate{Name: "2", Assignees: []string{"alice", "bob"}},
		posthouse.Gate{Name: "3", Assignees: []string{"alice"}}, posthouse.Gate{Name: "4", Assignees: []string{"carol"}}, posthouse.Gate{Name: "5", Assignees: []string{"alice"}},
	).Gates
	refused(d, gates[0].ID, yes("bob"), posthouse.ErrForbidden)
	s, err := substitutes.Name(t.Ctx, d.Ledger, deciders.Substitution{By: "alice", To: "bob", From: later, Until: later.Add(time.Hour), Reason: "on leave"})
	t.OK(err)
	refused(d, gates[0].ID, yes("bob"), posthouse.ErrForbidden)
	if got := personsInbox(d, "bob"); !slices.Equal(got, []string{"2"}) {
		t.Errorf("before it begins bob has %v", got)
	}
	d.Clock.Advance(time.Hour)
	if got := personsInbox(d, "bob"); !slices.Equal(got, []string{"1", "2", "3", "5"}) {
		t.Errorf("while it holds bob has %v", got)
	}
	if got := personsInbox(d, "alice"); !slices.Equal(got, []string{"1", "2", "3", "5"}) {
		t.Errorf("while it holds alice has %v", got)
	}
	g := castLastVote(d, gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob", Reason: "fine"}, posthouse.Approve)
	wantSame(d, g)
	if g.Decision.For != "alice" || len(g.Assignments) != 1 || g.Assignments[0].Substitution != s.ID || g.Assignments[0].By != "alice" || g.Decision.Trail != g.Decision.Seq {
		t.Errorf("decided as %+v under %+v", g.Decision, g.Assignments)
	}
	if g := castLastVote(d, gates[1].ID, yes("bob"), posthouse.Approve); g.Decision.For != "" || len(g.Assignments) != 0 {
		t.Errorf("who has a right of their own uses it: %+v", g.Decision)
	}
	refused(d, gates[3].ID, yes("bob"), posthouse.ErrForbidden)
	t.OK(substitutes.Withdraw(t.Ctx, d.Ledger, s.ID, substitutes.Withdrawal{By: "alice"}))
	refused(d, gates[2].ID, yes("bob"), posthouse.ErrForbidden)
	standIn(d, "alice", "bob", "", 1)
	d.Clock.Advance(time.Hour)
	refused(d, gates[2].ID, yes("bob"), posthouse.ErrForbidden)
	if got := personsInbox(d, "bob"); len(got) != 0 {
		t.Errorf("after its end bob has %v", got)
	}
	castLastVote(d, gates[2].ID, yes("alice"), posthouse.Approve)
	standIn(d, "alice", "bob", "", 1)
	other := t.Desk(ledger.Options{Now: d.Clock.Now}) // another process knows it, too
	if g := castLastVote(other, gates[4].ID, no("bob"), posthouse.Reject); g.Decision.For != "alice" {
		t.Errorf("decided as %+v", g.Decision)
	}
}

func ledgerSubstitutesVote(t *desk.T) {
	d := t.Desk(ledger.Options{})
	two := &posthouse.Quorum{Need: 2}
	ask := func(thread string, assignees ...string) posthouse.ID {
		return d.Ask(thread, posthouse.Gate{Name: "ok?", Assignees: assignees, Quorum: two}).Gates[0].ID
	}
	standIn(d, "alice", "bob", "", 9)
	both := ask("both", "alice", "bob", "carol")
	if g := castVote(d, both, yes("bob")); g.Votes[0].For != "" {
		t.Errorf("bob used the right of %q", g.Votes[0].For)
	}
	refused(d, both, yes("bob"), posthouse.ErrVoted)
	refused(d, both, posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Actor: "bob"}, posthouse.ErrVoted)
	castLastVote(d, both, yes("alice"), posthouse.Approve)

	used := ask("used", "alice", "carol", "dave")
	if g := castVote(d, used, yes("bob")); g.Votes[0].For != "alice" {
		t.Errorf("bob used the right of %q", g.Votes[0].For)
	}
	refused(d, used, yes("alice"), posthouse.ErrForbidden)
	refused(d, used, yes("bob"), posthouse.ErrVoted)
	castLastVote(d, used, yes("carol"), posthouse.Approve)

	first := ask("first", "alice", "carol", "dave")
	castVote(d, first, yes("alice"))
	refused(d, first, yes("bob"), posthouse.ErrForbidden)

	standIn(d, "carol", "bob", "", 9)
	twice := ask("twice", "alice", "carol", "dave")
	castVote(d, twice, yes("bob"))
	refused(d, twice, yes("bob"), posthouse.ErrVoted)
	castLastVote(d, twice, yes("dave"), posthouse.Approve)

	standIn(d, "erin", "puppet", "olga", 9)
	standIn(d, "frank", "doll", "olga", 9)
	puppets := ask("puppets", "erin", "frank", "dave")
	castVote(d, puppets, yes("puppet"))
	refused(d, puppets, yes("doll"), posthouse.ErrForbidden)
	castLastVote(d, puppets, yes("dave"), posthouse.Approve)
	own := ask("own", "erin", "frank", "olga")
	castVote(d, own, yes("olga"))
	refused(d, own, yes("puppet"), posthouse.ErrVoted)
}

func ledgerSubstitutesOfRequesters(t *desk.T) {
	d := t.Desk(ledger.Options{})
	ask := func(thread string, g posthouse.Gate) posthouse.ID {
		g.Name = "ok?"
		return d.Ask(thread, g).Gates[0].ID
	}
	standIn(d, "alice", "bob", "", 9)
	for name, q := range map[string]*posthouse.Quorum{"one": nil, "two": {Need: 2}} {
		three := []string{"alice", "carol", "dave"}
		refused(d, ask("bobs-"+name, posthouse.Gate{Assignees: three, RequestedBy: "bob", Quorum: q}), yes("bob"), posthouse.ErrForbidden)
		hers := ask("alices-"+name, posthouse.Gate{Assignees: three, RequestedBy: "alice", Quorum: q})
		refused(d, hers, yes("bob"), posthouse.ErrForbidden)
		refused(d, hers, posthouse.Decision{Verdict: posthouse.Approve, By: "bob", Actor: "alice"}, posthouse.ErrForbidden)
	}
	s := standIn(d, "carol", "helper", "olga", 9)
	refused(d, ask("olgas", posthouse.Gate{Assignees: []string{"carol"}, RequestedBy: "olga"}), yes("helper"), posthouse.ErrForbidden)
	t.OK(substitutes.Withdraw(t.Ctx, d.Ledger, s.ID, substitutes.Withdrawal{By: "helper"}))

	standIn(d, "bob", "eve", "", 9) // alice, bob, eve
	chain := ask("chain", posthouse.Gate{Assignees: []string{"alice"}})
	refused(d, chain, yes("eve"), posthouse.ErrForbidden)
	castLastVote(d, chain, yes("bob"), posthouse.Approve)
	voted := ask("voted", posthouse.Gate{Assignees: []string{"alice", "carol", "dave"}, Quorum: &posthouse.Quorum{Need: 2}})
	castVote(d, voted, yes("bob"))
	refused(d, voted, yes("eve"), posthouse.ErrForbidden)

	circle := ask("circle", posthouse.Gate{Assignees: []string{"bob"}})
	_, err := d.Delegate(t.Ctx, circle, posthouse.Delegation{By: "bob", To: "alice"})
	t.OK(err)
	refused(d, circle, yes("bob"), posthouse.ErrForbidden)
	castLastVote(d, circle, yes("alice"), posthouse.Approve)
	_, err = d.Delegate(t.Ctx, ask("hands on", posthouse.Gate{Assignees: []string{"alice"}}), posthouse.Delegation{By: "bob", To: "mallory"})
	d.WantErr(err, posthouse.ErrForbidden)
}

func ledgerBadSubstitutions(t *desk.T) {
	d := t.Desk(ledger.Options{})
	now := d.Clock.Now()
	in := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	s := standIn(d, "alice", "bob", "", 9)
	for name, c := range map[string]struct {
		deciders.Substitution
		want *posthouse.Error
	}{
		"oneself":             {deciders.Substitution{By: "alice", To: "alice", Until: in(1)}, posthouse.ErrInvalid},
		"nobody":              {deciders.Substitution{By: "alice", Until: in(1)}, posthouse.ErrInvalid},
		"for nobody":          {deciders.Substitution{To: "alice", Until: in(1)}, posthouse.ErrInvalid},
		"the runtime":         {deciders.Substitution{By: "alice", To: posthouse.RuntimeActor, Until: in(1)}, posthouse.ErrInvalid},
		"an invisible name":   {deciders.Substitution{By: "alice", To: "b\u200bob", Until: in(1)}, posthouse.ErrInvalid},
		"no end":              {deciders.Substitution{By: "alice", To: "carol"}, posthouse.ErrInvalid},
		"a past period":       {deciders.Substitution{By: "alice", To: "carol", From: in(-9), Until: in(-1)}, posthouse.ErrInvalid},
		"an end at the start": {deciders.Substitution{By: "alice", To: "carol", From: in(2), Until: in(2)}, posthouse.ErrInvalid},
		"two years":           {deciders.Substitution{By: "alice", To: "carol", Until: in(2 * 366 * 24)}, posthouse.ErrInvalid},
		"a very long reason":  {deciders.Substitution{By: "alice", To: "carol", Until: in(1), Reason: string(make([]byte, 501))}, posthouse.ErrInvalid},
		"the same again":      {deciders.Substitution{By: "alice", To: "bob", From: in(8), Until: in(20)}, posthouse.ErrConflict},
		"each for the other":  {deciders.Substitution{By: "bob", To: "alice", Until: in(1)}, posthouse.ErrConflict},
	} {
		if _, err := substitutes.Name(t.Ctx, d.Ledger, c.Substitution); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want.Code)
		}
	}
	_, err := substitutes.Name(t.Ctx, d.Ledger, deciders.Substitution{By: "bob", To: "alice", From: in(9), Until: in(10)})
	t.OK(err)
	for by, want := range map[string]*posthouse.Error{"mallory": posthouse.ErrForbidden, "": posthouse.ErrInvalid} {
		d.WantErr(substitutes.Withdraw(t.Ctx, d.Ledger, s.ID, substitutes.Withdrawal{By: by}), want)
	}
	t.OK(substitutes.Withdraw(t.Ctx, d.Ledger, s.ID, substitutes.Withdrawal{By: "alice", Actor: "olga", Reason: "back early"}))
	d.WantErr(substitutes.Withdraw(t.Ctx, d.Ledger, s.ID, substitutes.Withdrawal{By: "alice"}), posthouse.ErrNotFound)
	for i := range deciders.MaxStandIns {
		_, err := substitutes.Name(t.Ctx, d.Ledger, deciders.Substitution{By: "busy", To: desk.Numbered("p", i+1)[i], Until: in(3)})
		t.OK(err)
	}
	_, err = substitutes.Name(t.Ctx, d.Ledger, deciders.Substitution{By: "busy", To: "one more", Until: in(3)})
	d.WantErr(err, posthouse.ErrTooLarge)
	if list, err := substitutes.List(t.Ctx, d.Ledger, "alice"); err != nil || len(list) != 1 || list[0].By != "bob" {
		t.Errorf("those of alice are %+v, %v", list, err)
	}
}

func ledgerSubstitutionsOnRecord(t *desk.T) {
	d := t.Desk(ledger.Options{Cipher: t.Ring("k")})
	s, err := substitutes.Name(t.Ctx, d.Ledger, deciders.Substitution{By: "alice", To: "bob", Until: d.Clock.Now().Add(time.Hour), Reason: desk.Secret})
	t.OK(err)
	const thread = "$substitutes"
	_, err = d.Signal(t.Ctx, thread, posthouse.Signal{Name: "substitutions", Value: []byte(`{"table":[{"by":"alice","to":"mallory"}]}`), Early: true})
	d.WantErr(err, posthouse.ErrInvalid)
	_, err = d.Commit(t.Ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindSave, State: desk.State("x")}})
	d.WantErr(err, posthouse.ErrInvalid)
	_, err = d.Release(t.Ctx, thread, nil)
	d.WantErr(err, posthouse.ErrInvalid)
	t.OK(substitutes.Withdraw(t.Ctx, d.Ledger, s.ID, substitutes.Withdrawal{By: "bob"}))
	n := 0
	for e, err := range d.Log(t.Ctx, thread, posthouse.Range{}) {
		t.OK(err)
		for _, r := range e.Events {
			if r.Signal != nil {
				n++
			}
		}
	}
	if n != 2 {
		t.Errorf("%d changes are on record, want 2", n)
	}
	if found := t.InClear(thread); len(found) > 0 {
		t.Errorf("in the clear: %v", found)
	}
	for i := range 3 { // two processes name at once, and both are there
		a, b := t.Desk(ledger.Options{Cipher: t.Ring("k")}), d
		errs := make(chan error, 2)
		for j, l := range []*desk.Desk{a, b} {
			go func() {
				_, err := substitutes.Name(t.Ctx, l.Ledger, deciders.Substitution{By: "alice", To: desk.Numbered("p", 9)[2*i+j], Until: l.Clock.Now().Add(time.Hour)})
				errs <- err
			}()
		}
		t.OK(<-errs)
		t.OK(<-errs)
	}
	if list, err := substitutes.List(t.Ctx, d.Ledger, ""); err != nil || len(list) != 6 {
		t.Errorf("%d substitutions, %v; want 6", len(list), err)
	}
}
