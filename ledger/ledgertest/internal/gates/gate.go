package gates

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

func gateCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/one gate, one decision", Rule: "The first decision is recorded and makes the branch ready; later ones get ErrDecided with it, also from a new process.", Run: ledgerOneDecision},
		{Name: "ledger/a session's approval ends with its decision", Rule: "Deciding the last open gate of a branch whose kind is session, or its deadline, makes the branch done, not ready: who asked waits in memory, or is gone.", Run: ledgerSessionGate},
		{Name: "ledger/racing deciders: one winner", Rule: "Of 100 racing deciders over two ledgers one wins, round after round; all others get the winner's decision.", Run: ledgerRacingDeciders},
		{Name: "ledger/who may decide what", Rule: "Verdicts, assignees, the requester rule, the hash shown, and the policy are checked before anything is written.", Run: ledgerWhoMayDecide},
		{Name: "ledger/an expired gate is never an approval", Rule: "A decision after the deadline records expire, once, and is ErrExpired; Expire does the same; before the deadline it is ErrConflict.", Run: ledgerExpires},
		{Name: "ledger/the inbox", Rule: "Gates lists what waits, oldest first unless Newest, filtered by thread, coordination, checkpoint and assignee, behind a cursor; a decided one leaves.", Run: ledgerInbox},
		{Name: "ledger/a branch that goes on cancels what it asked", Rule: "A new checkpoint on a waiting branch records cancel for gates it does not keep.", Run: ledgerSupersedes},
		{Name: "ledger/a kept question that was decided meanwhile", Rule: "A checkpoint that goes on waiting for a gate decided in between is ready: the answer wakes somebody.", Run: ledgerKeptAndDecided},
	}
}

func ledgerOneDecision(t *desk.T) {
	d := t.Desk(ledger.Options{})
	done := d.Ask("t", posthouse.Gate{Name: "ok?", Payload: json.RawMessage(`{"order":1234}`), Labels: map[string]string{"k": "v"}})
	g, err := d.Decide(t.Ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Actor: "operator", Reason: "smaller", Value: json.RawMessage(`{"a":1}`)})
	t.OK(err)
	if g.Decision.By != "alice" || g.Decision.Actor != "operator" || string(g.Payload) != `{"order":1234}` || g.Labels["k"] != "v" {
		t.Errorf("gate: %+v", g)
	}
	for _, l := range []*desk.Desk{d, t.Desk(ledger.Options{})} {
		_, err := l.Decide(t.Ctx, g.ID, posthouse.Decision{Verdict: posthouse.Reject, By: "bob"})
		if e := l.WantErr(err, posthouse.ErrDecided); e.Decision.By != "alice" || string(e.Decision.Value) != `{"a":1}` {
			t.Errorf("the winner is %+v", e.Decision)
		}
		again, err := l.Gate(t.Ctx, g.ID)
		t.OK(err)
		if again.Decision == nil || again.Decision.Reason != "smaller" || again.Checkpoint != done.Checkpoint.ID || again.Hash != done.Hash {
			t.Errorf("gate: %+v", again)
		}
		info, err := l.Thread(t.Ctx, "t")
		t.OK(err)
		if info.Status != posthouse.StatusReady || len(info.Waiting) != 0 {
			t.Errorf("thread: %+v", info)
		}
	}
}

func ledgerSessionGate(t *desk.T) {
	d := t.Desk(ledger.Options{})
	session := posthouse.Gate{Name: "pay", Kind: posthouse.GateSession, ExpiresAt: d.Now().Add(time.Minute)}
	answered, late, kept := d.Ask("answered", session).Gates[0].ID, d.Ask("late", session).Gates[0].ID, d.Ask("kept", session, posthouse.Gate{Name: "ok?"}).Gates
	_, err := d.Decide(t.Ctx, answered, byAlice())
	t.OK(err)
	_, err = d.Decide(t.Ctx, kept[0].ID, byAlice()) // a program asks beside it
	t.OK(err)
	d.Clock.Advance(time.Hour)
	_, err = commit.Expire(t.Ctx, d.Ledger.Core(), late)
	t.OK(err)
	again := t.Desk(ledger.Options{})
	again.WantStatus("answered", posthouse.StatusDone)
	again.WantStatus("late", posthouse.StatusDone)
	again.WantStatus("kept", posthouse.StatusReady)
	for info, err := range again.Threads(t.Ctx, posthouse.ThreadQuery{Runnable: true}) {
		t.OK(err)
		if info.Thread != "kept" {
			t.Errorf("a runner finds %+v", info)
		}
	}
}

func ledgerRacingDeciders(t *desk.T) {
	ledgers := []*desk.Desk{t.Desk(ledger.Options{}), t.Desk(ledger.Options{})}
	rounds := 50
	if t.Harness.Long {
		rounds = 1000
	}
	for round := range rounds {
		gate := ledgers[0].Ask(fmt.Sprint("t", round), posthouse.Gate{Name: "ok?"}).Gates[0].ID
		errs := make([]error, 100)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				_, errs[i] = ledgers[i%2].Decide(t.Ctx, gate, posthouse.Decision{Verdict: posthouse.Approve, By: fmt.Sprint("p", i)})
			})
		}
		wg.Wait()
		g, err := ledgers[0].Gate(t.Ctx, gate)
		t.OK(err)
		for i, err := range errs {
			var e *posthouse.Error
			switch {
			case err == nil && g.Decision.By != fmt.Sprint("p", i):
				t.Errorf("p%d was told it won, the log says %s", i, g.Decision.By)
			case err != nil && (!errors.As(err, &e) || e.Code != posthouse.CodeDecided || e.Decision.By != g.Decision.By):
				t.Errorf("p%d: %v", i, err)
			}
		}
	}
}

func ledgerWhoMayDecide(t *desk.T) {
	d := t.Desk(ledger.Options{Policy: func(g *posthouse.Gate, dec *posthouse.Decision) error {
		if dec.By == "mallory" {
			return &posthouse.Error{Code: posthouse.CodeForbidden, Message: "not mallory"}
		}
		return nil
	}})
	done := d.Ask("t", posthouse.Gate{Name: "ok?", Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject}, Assignees: []string{"alice", "bob", "mallory"}, RequestedBy: "bob"})
	g := done.Gates[0]
	try := func(dec posthouse.Decision, want *posthouse.Error) {
		t.Helper()
		_, err := d.Decide(t.Ctx, g.ID, dec)
		d.WantErr(err, want)
	}
	try(posthouse.Decision{Verdict: posthouse.Approve}, posthouse.ErrInvalid)
	try(posthouse.Decision{Verdict: "maybe", By: "alice"}, posthouse.ErrInvalid)
	try(posthouse.Decision{Verdict: posthouse.Expire, By: "alice"}, posthouse.ErrInvalid)
	try(posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: json.RawMessage(`1`)}, posthouse.ErrInvalid)
	try(posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Value: json.RawMessage(`1`)}, posthouse.ErrInvalid)
	try(posthouse.Decision{Verdict: posthouse.Approve, By: "carol"}, posthouse.ErrForbidden)
	try(posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}, posthouse.ErrForbidden)
	try(posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Actor: "bob"}, posthouse.ErrForbidden)
	try(posthouse.Decision{Verdict: posthouse.Approve, By: "mallory"}, posthouse.ErrForbidden)
	try(posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Shown: posthouse.Hash{1}}, posthouse.ErrConflict)
	if _, err := d.Decide(t.Ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Shown: g.Hash}); err != nil {
		t.Error(err)
	}
	own := d.Ask("u", posthouse.Gate{Name: "ok?", RequestedBy: "bob", AllowRequest: true})
	if _, err := d.Decide(t.Ctx, own.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); err != nil {
		t.Error(err)
	}
	edits := d.Ask("w", posthouse.Gate{Name: "ok?", RequestedBy: "bob"})
	_, err := d.Decide(t.Ctx, edits.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Actor: "bob", Value: json.RawMessage(`1`)})
	d.WantErr(err, posthouse.ErrForbidden)
	if _, err := d.Decide(t.Ctx, edits.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Reject, By: "alice", Actor: "bob"}); err != nil {
		t.Error("a rejection sent by who asked:", err)
	}
	asked := d.Ask("v", posthouse.Gate{Name: "which?", RequestedBy: "bob", Verdicts: []posthouse.Verdict{posthouse.Respond, posthouse.Reject}})
	if _, err := d.Decide(t.Ctx, asked.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Respond, By: "bob", Value: json.RawMessage(`1`)}); err != nil {
		t.Error("a question that nobody can approve:", err)
	}
}

func ledgerExpires(t *desk.T) {
	d := t.Desk(ledger.Options{})
	deadline := d.Clock.Now().Add(time.Hour)
	a := d.Ask("a", posthouse.Gate{Name: "ok?", ExpiresAt: deadline}).Gates[0].ID
	b := d.Ask("b", posthouse.Gate{Name: "ok?", ExpiresAt: deadline}).Gates[0].ID
	_, err := commit.Expire(t.Ctx, d.Ledger.Core(), b)
	d.WantErr(err, posthouse.ErrConflict)
	due := 0
	for range d.Threads(t.Ctx, posthouse.ThreadQuery{DueBefore: posthouse.Millis(deadline.UnixMilli())}) {
		due++
	}
	if due != 2 {
		t.Errorf("%d threads due, want 2", due)
	}
	again := t.Desk(ledger.Options{})
	again.Clock.Advance(2 * time.Hour)
	_, err = again.Decide(t.Ctx, a, byAlice())
	if e := again.WantErr(err, posthouse.ErrExpired); e.Decision.Verdict != posthouse.Expire {
		t.Errorf("decision %+v", e.Decision)
	}
	_, err = again.Decide(t.Ctx, a, byAlice())
	again.WantErr(err, posthouse.ErrExpired)
	g, err := commit.Expire(t.Ctx, again.Ledger.Core(), b)
	t.OK(err)
	if g.Decision.Verdict != posthouse.Expire {
		t.Errorf("decision %+v", g.Decision)
	}
	info, err := again.Thread(t.Ctx, "b")
	t.OK(err)
	if info.Status != posthouse.StatusReady || info.Due != 0 {
		t.Errorf("thread %+v", info)
	}
}

func ledgerInbox(t *desk.T) {
	d := t.Desk(ledger.Options{})
	two := d.Ask("a", posthouse.Gate{Name: "one", Assignees: []string{"alice"}}, posthouse.Gate{Name: "two"})
	three := d.Ask("b", posthouse.Gate{Name: "three"})
	if two.Gates[0].ID == two.Gates[1].ID {
		t.Error("two questions share an id")
	}
	names := func(q ledger.GateQuery) (out []string) {
		for g, err := range d.Gates(t.Ctx, q) {
			t.OK(err)
			out = append(out, g.Name)
		}
		return out
	}
	want := func(q ledger.GateQuery, want ...string) {
		t.Helper()
		if got := names(q); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+v: %v, want %v", q, got, want)
		}
	}
	want(ledger.GateQuery{}, "one", "two", "three")
	want(ledger.GateQuery{Newest: true, Limit: 2}, "three", "two")
	want(ledger.GateQuery{After: two.Gates[0].ID}, "two", "three")
	want(ledger.GateQuery{Newest: true, After: three.Gates[0].ID}, "two", "one")
	want(ledger.GateQuery{After: three.Gates[0].ID})
	want(ledger.GateQuery{Thread: "a"}, "one", "two")
	want(ledger.GateQuery{Coordination: "b"}, "three")
	want(ledger.GateQuery{Checkpoint: three.Checkpoint.ID}, "three")
	want(ledger.GateQuery{Assignee: "bob"}, "two", "three")
	_, err := d.Decide(t.Ctx, two.Gates[0].ID, byAlice())
	t.OK(err)
	want(ledger.GateQuery{}, "two", "three")
	want(ledger.GateQuery{After: two.Gates[0].ID}, "two", "three")
}

func ledgerSupersedes(t *desk.T) {
	d := t.Desk(ledger.Options{})
	done := d.Ask("t", posthouse.Gate{Name: "one"}, posthouse.Gate{Name: "two"})
	_, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Keep: []posthouse.ID{done.Gates[1].ID}, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"ask"},
	}})
	t.OK(err)
	g, err := d.Gate(t.Ctx, done.Gates[0].ID)
	t.OK(err)
	if g.Decision == nil || g.Decision.Verdict != posthouse.Cancel {
		t.Errorf("left behind: %+v", g.Decision)
	}
	g, err = d.Gate(t.Ctx, done.Gates[1].ID)
	if err != nil || g.Decision != nil {
		t.Errorf("kept: %+v, %v", g, err)
	}
	_, err = d.Decide(t.Ctx, done.Gates[1].ID, byAlice())
	t.OK(err)
}

func ledgerKeptAndDecided(t *desk.T) {
	d := t.Desk(ledger.Options{})
	keep := d.Ask("t", posthouse.Gate{Name: "one"}).Gates[0].ID
	_, err := d.Decide(t.Ctx, keep, byAlice())
	t.OK(err)
	done := d.Wait("t", "1/ask", []posthouse.ID{keep})
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if done.Checkpoint.Status != posthouse.StatusReady || !info.Runnable() {
		t.Errorf("the checkpoint is %q, the thread %q", done.Checkpoint.Status, info.Status)
	}
}

func byAlice() posthouse.Decision {
	return posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}
}
