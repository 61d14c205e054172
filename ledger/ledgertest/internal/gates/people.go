package gates

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

func peopleCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/a quorum counts each person once", Rule: "Votes are records of their own; the one that meets the rule and the decision are one entry; a second vote of a person is ErrVoted, whoever sent it.", Run: ledgerQuorum},
		{Name: "ledger/racing voters", Rule: "Of racing voters over two ledgers exactly as many are counted as the rule needs; the others get the decision.", Run: ledgerRacingVoters},
		{Name: "ledger/rejections of a quorum", Rule: "The first rejection ends it, or with Outvote the one after which too few are left to approve.", Run: ledgerRejections},
		{Name: "ledger/four eyes", Rule: "A requester has no vote on a quorum, not even by the hand of another name.", Run: ledgerFourEyes},
		{Name: "ledger/delegation", Rule: "A right is handed on as a record; the decision says whose it was; circles and doubles are refused.", Run: ledgerDelegation},
		{Name: "ledger/delegation taken back", Rule: "Who handed a right on has it back, however far it went, while it is not used; the log says so, and what others have is not touched.", Run: ledgerTakeBack},
		{Name: "ledger/withdrawing is no decision", Rule: "A requester, an operator and the program take a question back, and nobody else; a wait that asks nobody only the last two; Decide refuses cancel.", Run: ledgerWithdraw},
		{Name: "ledger/taking back races with the vote", Rule: "Of a delegate who votes and a person who takes the right back, over two ledgers, one wins: the other is told so.", Run: ledgerTakeBackRace},
		{Name: "ledger/taking back races with the deadline", Rule: "Of a right that is taken back while its question expires or escalates elsewhere, by a clock that is ahead, the log has an order: what comes behind the end is told that it is over and leaves nothing, and the end names what came before it.", Run: ledgerTakeBackExpiry},
		{Name: "ledger/a delegation is taken back once", Rule: "Of two who take the same delegation back at once one is told that there is nothing to take back, and the right is with who had it, also if its holder handed it on meanwhile.", Run: ledgerTakeBackOnce},
		{Name: "ledger/escalation", Rule: "From its time on more people may decide, recorded or not; it is recorded once, and the first keep their right unless told otherwise.", Run: ledgerEscalation},
		{Name: "ledger/votes and assignments are sealed", Rule: "With a cipher their reasons are in no entry, and come back whole.", Run: ledgerSealsVotes},
		{Name: "ledger/a fork asks all again", Rule: "A gate that a fork opens again has no votes and its first assignees; the original keeps what it has.", Run: ledgerForksVotes},
		{Name: "ledger/rules that nobody could meet", Rule: "A gate whose quorum or escalation cannot work is refused before it is written.", Run: ledgerBadRules},
	}
}

func yes(by string) posthouse.Decision {
	return posthouse.Decision{Verdict: posthouse.Approve, By: by}
}

func no(by string) posthouse.Decision { return posthouse.Decision{Verdict: posthouse.Reject, By: by} }

// castVote decides, and fails unless more votes are needed.
func castVote(d *desk.Desk, id posthouse.ID, dec posthouse.Decision) *posthouse.Gate {
	d.Helper()
	g, err := d.Decide(d.Ctx, id, dec)
	d.OK(err)
	if g.Decision != nil {
		d.Errorf("%s of %s decided: %+v", dec.Verdict, dec.By, g.Decision)
	}
	return g
}

// castLastVote decides, and fails unless that was the last vote.
func castLastVote(d *desk.Desk, id posthouse.ID, dec posthouse.Decision, want posthouse.Verdict) *posthouse.Gate {
	d.Helper()
	g, err := d.Decide(d.Ctx, id, dec)
	d.OK(err)
	if g.Decision == nil || g.Decision.Verdict != want || g.Decision.By != dec.By {
		d.Fatalf("%s of %s came to %+v, want %s", dec.Verdict, dec.By, g.Decision, want)
	}
	return g
}

// wantSame fails unless the returned gate is the one that is read.
func wantSame(d *desk.Desk, g *posthouse.Gate) {
	d.Helper()
	for _, l := range []*desk.Desk{d, d.T.Desk(ledger.Options{Now: d.Clock.Now})} {
		read, err := l.Gate(d.Ctx, g.ID)
		d.OK(err)
		if fmt.Sprint(read.Votes) != fmt.Sprint(g.Votes) || fmt.Sprint(read.Assignments) != fmt.Sprint(g.Assignments) ||
			(read.Decision == nil) != (g.Decision == nil) || g.Decision != nil && fmt.Sprint(*read.Decision) != fmt.Sprint(*g.Decision) {
			d.Errorf("returned %+v\nread     %+v", g, read)
		}
	}
}

func ledgerQuorum(t *desk.T) {
	d := t.Desk(ledger.Options{})
	id := d.Ask("t", posthouse.Gate{Name: "ok?", Quorum: &posthouse.Quorum{Need: 2}}).Gates[0].ID
	wantSame(d, castVote(d, id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Actor: "olga"}))
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if info.Status != posthouse.StatusWaiting || len(info.Waiting) != 1 {
		t.Errorf("after one vote: %+v", info)
	}
	for _, dec := range []posthouse.Decision{yes("alice"), no("alice"), yes("olga"), {Verdict: posthouse.Approve, By: "bob", Actor: "olga"}, {Verdict: posthouse.Approve, By: "bob", Actor: "alice"}} {
		_, err := d.Decide(t.Ctx, id, dec)
		if e := d.WantErr(err, posthouse.ErrVoted); e.Decision == nil || e.Decision.By != "alice" {
			t.Errorf("%+v: %+v", dec, e.Decision)
		}
	}
	if _, err := d.Decide(t.Ctx, id, posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: []byte(`1`)}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a vote with a value: %v", err)
	}
	tail := d.Tail("t")
	g := castLastVote(d, id, yes("bob"), posthouse.Approve)
	if len(g.Votes) != 2 || g.Decision.Seq != tail.Seq+1 || d.Tail("t").Seq != tail.Seq+1 {
		t.Errorf("the last vote and the decision: %+v", g)
	}
	wantSame(d, g)
	_, err = d.Decide(t.Ctx, id, yes("carol"))
	d.WantErr(err, posthouse.ErrDecided)
	info, err = d.Thread(t.Ctx, "t")
	if err != nil || info.Status != posthouse.StatusReady {
		t.Errorf("after the decision: %+v, %v", info, err)
	}
	cancelled := d.Ask("u", posthouse.Gate{Name: "ok?", Quorum: &posthouse.Quorum{Need: 2}}).Gates[0].ID
	castVote(d, cancelled, yes("alice"))
	g, err = d.Withdraw(t.Ctx, cancelled, ledger.Withdrawal{By: "alice", Operator: true})
	if d.OK(err); g.Decision == nil || g.Decision.Verdict != posthouse.Cancel || len(g.Votes) != 1 {
		t.Errorf("withdrawn after a vote: %+v", g)
	}
	wantSame(d, g)
}

func ledgerRacingVoters(t *desk.T) {
	ledgers := []*desk.Desk{t.Desk(ledger.Options{}), t.Desk(ledger.Options{})}
	for round := range 3 {
		id := ledgers[0].Ask(fmt.Sprint("t", round), posthouse.Gate{Name: "ok?", Quorum: &posthouse.Quorum{Need: 3}}).Gates[0].ID
		errs := make([]error, 40) // each person votes twice
		var wg sync.WaitGroup
		for i := range errs {
			vote := yes(fmt.Sprint("p", i/2))
			vote.Reason = fmt.Sprint("attempt ", i) // or the two of a person could be one and the same entry
			wg.Go(func() { _, errs[i] = ledgers[i%2].Decide(t.Ctx, id, vote) })
		}
		wg.Wait()
		g, err := ledgers[1].Gate(t.Ctx, id)
		t.OK(err)
		people, counted := map[string]bool{}, 0
		for _, v := range g.Votes {
			people[v.By] = true
		}
		for i, err := range errs {
			switch {
			case err == nil:
				counted++
			case !errors.Is(err, posthouse.ErrVoted) && !errors.Is(err, posthouse.ErrDecided):
				t.Errorf("p%d: %v", i/2, err)
			}
		}
		if g.Decision == nil || len(g.Votes) != 3 || len(people) != 3 || counted != 3 || !people[g.Decision.By] {
			t.Errorf("%d votes of %d people, %d were told so: %+v", len(g.Votes), len(people), counted, g.Decision)
		}
	}
}

func ledgerRejections(t *desk.T) {
	d := t.Desk(ledger.Options{})
	people := []string{"alice", "bob", "carol", "dave"}
	veto := d.Ask("a", posthouse.Gate{Name: "ok?", Assignees: people, Quorum: &posthouse.Quorum{Need: 2}}).Gates[0].ID
	castVote(d, veto, yes("alice"))
	castLastVote(d, veto, no("bob"), posthouse.Reject)
	for name, gate := range map[string]posthouse.Gate{
		"b": {Assignees: people}, "c": {}, "d": {Assignees: append([]string{"eve"}, people...), RequestedBy: "eve"},
	} {
		gate.Name, gate.Quorum = "ok?", &posthouse.Quorum{Need: 3, Outvote: true}
		if gate.Assignees == nil {
			gate.Quorum.Of = 4
		}
		id := d.Ask(name, gate).Gates[0].ID
		castVote(d, id, no("alice"))
		castVote(d, id, yes("bob"))
		castLastVote(d, id, no("carol"), posthouse.Reject) // 4-3+1
	}
}

func ledgerFourEyes(t *desk.T) {
	d := t.Desk(ledger.Options{})
	id := d.Ask("t", posthouse.Gate{Name: "ok?", RequestedBy: "alice", Quorum: &posthouse.Quorum{Need: 2}}).Gates[0].ID
	for _, dec := range []posthouse.Decision{yes("alice"), no("alice"), {Verdict: posthouse.Approve, By: "bob", Actor: "alice"}} {
		_, err := d.Decide(t.Ctx, id, dec)
		d.WantErr(err, posthouse.ErrForbidden)
	}
	castVote(d, id, yes("bob"))
	castLastVote(d, id, yes("carol"), posthouse.Approve)
}

func ledgerDelegation(t *desk.T) {
	d := t.Desk(ledger.Options{})
	id := d.Ask("t", posthouse.Gate{Name: "ok?", Assignees: []string{"alice", "bob"}, RequestedBy: "mallory"}).Gates[0].ID
	try := func(by, to string, want *posthouse.Error) {
		t.Helper()
		_, err := d.Delegate(t.Ctx, id, posthouse.Delegation{By: by, To: to})
		d.WantErr(err, want)
	}
	try("", "carol", posthouse.ErrInvalid)
	try("alice", "", posthouse.ErrInvalid)
	try("alice", "alice", posthouse.ErrInvalid)
	try("alice", "bob", posthouse.ErrInvalid)
	try("carol", "dave", posthouse.ErrForbidden)
	try("alice", "mallory", posthouse.ErrForbidden)
	for _, x := range [][2]string{{"alice", "carol"}, {"carol", "dave"}} {
		g, err := d.Delegate(t.Ctx, id, posthouse.Delegation{By: x[0], To: x[1], Actor: "olga", Reason: "away"})
		t.OK(err)
		wantSame(d, g)
	}
	try("dave", "alice", posthouse.ErrInvalid)
	try("dave", "carol", posthouse.ErrInvalid)
	try("alice", "eve", posthouse.ErrForbidden)
	for _, by := range []string{"alice", "carol"} {
		_, err := d.Decide(t.Ctx, id, yes(by))
		d.WantErr(err, posthouse.ErrForbidden)
	}
	inbox := func(who string) (n int) {
		for _, err := range d.Gates(t.Ctx, ledger.GateQuery{Assignee: who}) {
			t.OK(err)
			n++
		}
		return n
	}
	if inbox("alice") != 0 || inbox("dave") != 1 || inbox("bob") != 1 {
		t.Error("the inbox does not follow the right")
	}
	g := castLastVote(d, id, yes("dave"), posthouse.Approve)
	if g.Decision.For != "alice" || len(g.Assignments) != 2 || g.Assignments[0].Reason != "away" || fmt.Sprint(g.Assignees) != "[alice bob]" {
		t.Errorf("decided as %+v of %+v", g.Decision, g)
	}
	wantSame(d, g)
	try("bob", "eve", posthouse.ErrDecided)

	open := d.Ask("u", posthouse.Gate{Name: "ok?"}).Gates[0].ID
	_, err := d.Delegate(t.Ctx, open, posthouse.Delegation{By: "alice", To: "bob"})
	d.WantErr(err, posthouse.ErrInvalid)
	id = d.Ask("v", posthouse.Gate{Name: "ok?", Assignees: []string{"alice", "bob"}, Quorum: &posthouse.Quorum{Need: 2}}).Gates[0].ID
	castVote(d, id, yes("alice"))
	try("alice", "carol", posthouse.ErrVoted)
	try("bob", "alice", posthouse.ErrInvalid)
}

func ledgerEscalation(t *desk.T) {
	for _, replace := range []bool{false, true} {
		for _, recorded := range []bool{false, true} {
			d := t.Desk(ledger.Options{})
			at := d.Clock.Now().Add(time.Hour)
			name := fmt.Sprintf("t-%t-%t", replace, recorded)
			id := d.Ask(name, posthouse.Gate{
				Name: "ok?", Assignees: []string{"alice"}, ExpiresAt: at.Add(time.Hour),
				Escalation: &posthouse.Escalation{At: at, To: []string{"boss"}, Replace: replace},
			}).Gates[0].ID
			_, err := d.Decide(t.Ctx, id, yes("boss"))
			d.WantErr(err, posthouse.ErrForbidden)
			_, err = commit.Escalate(t.Ctx, d.Ledger.Core(), id)
			d.WantErr(err, posthouse.ErrConflict)
			if info, err := d.Thread(t.Ctx, name); err != nil || info.Due != posthouse.Millis(at.UnixMilli()) {
				t.Errorf("due %v, %v", info, err)
			}
			d.Clock.Advance(time.Hour)
			if recorded {
				g, err := commit.Escalate(t.Ctx, d.Ledger.Core(), id)
				t.OK(err)
				wantSame(d, g)
				tail := d.Tail(name)
				_, err = commit.Escalate(t.Ctx, d.Ledger.Core(), id)
				t.OK(err)
				if d.Tail(name) != tail {
					t.Error("it is recorded twice")
				}
				if info, err := d.Thread(t.Ctx, name); err != nil || info.Due != posthouse.Millis(at.Add(time.Hour).UnixMilli()) {
					t.Errorf("due %v, %v", info, err)
				}
			}
			if replace {
				_, err = d.Decide(t.Ctx, id, yes("alice"))
				d.WantErr(err, posthouse.ErrForbidden)
			}
			who := map[bool]string{false: "alice", true: "boss"}[replace]
			g := castLastVote(d, id, yes(who), posthouse.Approve)
			if len(g.Assignments) != 1 || !g.Assignments[0].Escalation || g.Assignments[0].Replace != replace {
				t.Errorf("assignments %+v", g.Assignments)
			}
			wantSame(d, g)
		}
	}
}

func ledgerBadRules(t *desk.T) {
	d := t.Desk(ledger.Options{})
	two, later := &posthouse.Quorum{Need: 2}, d.Clock.Now().Add(time.Hour)
	for name, g := range map[string]posthouse.Gate{
		"one":           {Quorum: &posthouse.Quorum{Need: 1}},
		"too few":       {Quorum: two, Assignees: []string{"alice", "alice"}},
		"requester":     {Quorum: two, Assignees: []string{"alice", "bob"}, RequestedBy: "bob"},
		"of fewer":      {Quorum: &posthouse.Quorum{Need: 2, Of: 1}},
		"of both":       {Quorum: &posthouse.Quorum{Need: 2, Of: 2}, Assignees: []string{"alice", "bob"}},
		"outvote":       {Quorum: &posthouse.Quorum{Need: 2, Outvote: true}},
		"edit":          {Quorum: two, Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Edit}},
		"anyone":        {Escalation: &posthouse.Escalation{At: later, To: []string{"boss"}}},
		"to nobody":     {Assignees: []string{"alice"}, Escalation: &posthouse.Escalation{At: later}},
		"never":         {Assignees: []string{"alice"}, Escalation: &posthouse.Escalation{To: []string{"boss"}}},
		"after the end": {Assignees: []string{"alice"}, ExpiresAt: later, Escalation: &posthouse.Escalation{At: later, To: []string{"boss"}}},
		"an empty name": {Assignees: []string{"alice"}, Escalation: &posthouse.Escalation{At: later, To: []string{""}}},
	} {
		g.Name = name
		_, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"ask"},
		}})
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.Thread(t.Ctx, "t"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("something was written: %v", err)
	}
	d.Ask("u", posthouse.Gate{Name: "ok?", Quorum: two, Assignees: []string{"alice"}, Escalation: &posthouse.Escalation{At: later, To: []string{"boss"}}})
}

func ledgerSealsVotes(t *desk.T) {
	d := t.Desk(ledger.Options{Cipher: t.Ring("k")})
	id := d.Ask("t", posthouse.Gate{Name: "ok?", Assignees: []string{"alice", "bob"}, Quorum: &posthouse.Quorum{Need: 2}}).Gates[0].ID
	vote := yes("alice")
	vote.Reason = desk.Secret
	castVote(d, id, vote)
	_, err := d.Delegate(t.Ctx, id, posthouse.Delegation{By: "bob", To: "carol", Reason: desk.Secret})
	t.OK(err)
	castLastVote(d, id, yes("carol"), posthouse.Approve)
	if found := t.InClear("t"); len(found) > 0 {
		t.Errorf("in the clear: %v", found)
	}
	g, err := t.Desk(ledger.Options{Cipher: t.Ring("k")}).Gate(t.Ctx, id)
	t.OK(err)
	if len(g.Votes) != 2 || g.Votes[0].Reason != desk.Secret || len(g.Assignments) != 1 || g.Assignments[0].Reason != desk.Secret {
		t.Errorf("read %+v", g)
	}
}

func ledgerForksVotes(t *desk.T) {
	d := t.Desk(ledger.Options{})
	done := d.Ask("t", posthouse.Gate{Name: "ok?", Assignees: []string{"alice", "bob"}, Quorum: &posthouse.Quorum{Need: 2}})
	id := done.Gates[0].ID
	castVote(d, id, yes("alice"))
	_, err := d.Delegate(t.Ctx, id, posthouse.Delegation{By: "bob", To: "carol"})
	t.OK(err)
	for _, o := range []*ledger.ForkOptions{{Branch: "what-if"}, {Thread: "u"}} {
		f, err := d.Fork(t.Ctx, done.Checkpoint.ID, o)
		t.OK(err)
		again := f.Gates[0]
		g, err := d.Gate(t.Ctx, again)
		t.OK(err)
		if len(g.Votes) != 0 || len(g.Assignments) != 0 || g.Quorum == nil || g.Quorum.Need != 2 {
			t.Errorf("asked again: %+v", g)
		}
		castVote(d, again, yes("bob"))
		wantSame(d, castLastVote(d, again, yes("alice"), posthouse.Approve))
	}
	wantSame(d, castLastVote(d, id, yes("carol"), posthouse.Approve))
	if _, err := retain.Delete(t.Ctx, d.Ledger, done.Checkpoint.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan}); err != nil {
		t.Error(err)
	}
}
