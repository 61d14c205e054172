package ledgertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

func ledgerSignalCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/a signal answers what waits", Rule: "One signal answers the oldest wait of each branch, in the commit that records it; one that latches, or a wait that does, is not used up.", Run: ledgerSignalAnswers},
		{Name: "ledger/a wait finds its signal on record", Rule: "A wait that is committed behind its signal is answered in the same entry; with the signals of other processes racing the commit none is lost or taken twice.", Run: ledgerNoLostWakeUp},
		{Name: "ledger/anyone may signal while a run has the thread", Rule: "A signal is appended between the holder's entries; the holder re-chains and goes on.", Run: ledgerSignalWhileHeld},
		{Name: "ledger/each lineage takes a signal once", Rule: "A fork takes again what was taken behind its fork point and not what was taken before, also in a new process.", Run: ledgerSignalLineage},
		{Name: "ledger/a signal that no program was given", Rule: "A wait that ends without its program returns its signal: an input, an update and a withdrawal that came too late do; the branch's next wait, an open one and a fork take it, once and in order.", Run: ledgerSignalReturned},
		{Name: "ledger/a signal is sent once by its id", Rule: "The same again is the signal on record, also with other spaces or order; other content, or an id of something else, is ErrExists. It is no checkpoint and no gate.", Run: ledgerSignalOnce},
		{Name: "ledger/a signal to a thread that is not there", Rule: "It is ErrNotFound, unless it may be early: then the log begins with it, and deleting the thread takes it along. A thread that was deleted stays so when it comes again; one that was released begins again.", Run: ledgerSignalEarly},
		{Name: "ledger/timers and signals are not in the inbox", Rule: "Gates of the runtime's kinds are listed only by their kind or with all; people can cancel them and nothing else.", Run: ledgerInboxOfPeople},
		{Name: "ledger/cancelling ends a branch", Rule: "A branch that nobody runs gets a last checkpoint and its gates are cancelled; again, and on what is done, nothing is written.", Run: ledgerCancelParked},
		{Name: "ledger/cancelling a run", Rule: "The run of this process is told at once; its next commit is ErrCancelled, unless it is late; with its claim it ends the branch, for the reason of the request.", Run: ledgerCancelRun},
		{Name: "ledger/cancelling what a thread waits for", Rule: "Cancelling a branch cancels the threads whose end it waits for, and those that they wait for.", Run: ledgerCancelCalled},
		{Name: "ledger/leaving what a thread waits for", Rule: "An input, an update, a release and a removal cancel the threads whose end the branch waited for; an update in the middle of the step, a wait, a failure and the end of a fork or a copy do not.", Run: ledgerLeavesCalled},
		{Name: "ledger/cancelled or done: one wins", Rule: "Of a run that ends and a request to cancel the first on record stands, and the other is told.", Run: ledgerCancelOrDone},
	}
}

func sendSignal(d *desk.Desk, thread, name, value string) *posthouse.Signal {
	d.Helper()
	s, err := d.Signal(d.Ctx, thread, posthouse.Signal{Name: name, Value: json.RawMessage(value), By: "alice"})
	d.OK(err)
	return s
}

// waitForSignal commits a checkpoint that waits for signals of these names. A name that ends in !
// latches.
func waitForSignal(d *desk.Desk, thread, branch string, c *ledger.Claim, names ...string) *posthouse.Committed {
	d.Helper()
	draft := &ledger.Draft{Thread: thread, Branch: branch, Claim: c, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}}
	for i, n := range names {
		name, latch := strings.CutSuffix(n, "!")
		draft.Gates = append(draft.Gates, posthouse.Gate{Name: "signal:" + name, Occurrence: uint32(i), Kind: posthouse.GateSignal, Signal: name, Latch: latch})
	}
	done, err := d.Commit(d.Ctx, draft)
	d.OK(err)
	return done
}

// wantAnswers compares the answers of a commit's gates. A dash means no answer.
func wantAnswers(d *desk.Desk, c *posthouse.Committed, want string) {
	d.Helper()
	var got []string
	for i := range c.Gates {
		g, err := d.Gate(d.Ctx, c.Gates[i].ID)
		d.OK(err)
		if g.Decision == nil {
			got = append(got, "-")
		} else {
			got = append(got, string(g.Decision.Value))
		}
	}
	if s := strings.Join(got, " "); s != want {
		d.Errorf("answered %q, want %q", s, want)
	}
}

func ledgerSignalAnswers(t *desk.T) {
	d, other := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	c := waitForSignal(d, "t", "", nil, "go", "go", "go!", "other")
	d.WantStatus("t", posthouse.StatusWaiting)
	if s := sendSignal(other, "t", "go", "1"); len(s.Gates) != 2 || s.Gates[0] != c.Gates[0].ID || s.Gates[1] != c.Gates[2].ID {
		t.Errorf("the signal answered %v", s.Gates)
	}
	wantAnswers(other, c, "1 - 1 -")
	d.WantStatus("t", posthouse.StatusReady)
	sendSignal(d, "t", "go", "2")
	sendSignal(d, "t", "go", "3")
	wantAnswers(other, c, "1 2 1 -")
	wantAnswers(other, waitForSignal(other, "t", "", nil, "go", "go!", "go"), "3 3 -")
	_, err := d.Signal(d.Ctx, "t", posthouse.Signal{Name: "go", Value: json.RawMessage("4"), Latch: true})
	d.OK(err)
	all := waitForSignal(d, "u", "", nil, "go", "go", "go!")
	_, err = d.Signal(d.Ctx, "u", posthouse.Signal{Name: "go", Latch: true})
	d.OK(err)
	wantAnswers(other, all, "null null null")
}

func ledgerNoLostWakeUp(t *desk.T) {
	d, other := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	waitForSignal(d, "t", "", nil)
	sent, taken := 0, 0
	for range 8 {
		var wg sync.WaitGroup
		for range 3 {
			v := fmt.Sprint(sent)
			sent++
			wg.Go(func() { sendSignal(other, "t", "go", v) })
		}
		var commits []*posthouse.Committed
		wg.Go(func() {
			for range 3 {
				commits = append(commits, waitForSignal(d, "t", "", nil, "go"))
			}
		})
		wg.Wait()
		for _, c := range commits {
			g, err := d.Gate(d.Ctx, c.Gates[0].ID)
			t.OK(err)
			if g.Decision != nil && g.Decision.Verdict == posthouse.Respond {
				taken++
			}
		}
		left, err := commit.Pending(t.Ctx, other.Ledger.Core(), "t", "", "go", false)
		t.OK(err)
		if taken+len(left) != sent {
			t.Fatalf("of %d signals %d were taken and %d are left", sent, taken, len(left))
		}
		if info, err := d.Thread(t.Ctx, "t"); err != nil || len(left) > 0 && info.Status == posthouse.StatusWaiting {
			t.Fatalf("the thread waits, and %d signals are there for it (%v)", len(left), err)
		}
	}
}

func ledgerSignalWhileHeld(t *desk.T) {
	d, other := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	claim, err := d.Claim(t.Ctx, "t", "r")
	t.OK(err)
	_, err = d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}})
	t.OK(err)
	sendSignal(other, "t", "go", "1")
	_, err = d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Claim: claim, Steps: []posthouse.Step{{Task: "1/n", Name: "s"}}})
	t.OK(err)
	sendSignal(other, "t", "go", "2")
	c := waitForSignal(d, "t", "", claim, "go", "go", "go")
	wantAnswers(d, c, "1 2 -")
	d.WantStatus("t", posthouse.StatusReady)
}

func ledgerSignalLineage(t *desk.T) {
	d := t.Desk(ledger.Options{})
	waitForSignal(d, "t", "", nil, "go")
	sendSignal(d, "t", "go", "1")
	point, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}})
	t.OK(err)
	sendSignal(d, "t", "go", "2")
	wantAnswers(d, waitForSignal(d, "t", "", nil, "go"), "2")
	for _, l := range []*desk.Desk{d, t.Desk(ledger.Options{})} {
		f, err := l.Fork(t.Ctx, point.Checkpoint.ID, nil)
		t.OK(err)
		wantAnswers(l, waitForSignal(l, "t", f.Branch, nil, "go", "go"), "2 -")
	}
	sendSignal(d, "t", "go", "3")
	wantAnswers(d, waitForSignal(d, "t", "", nil, "go", "go"), "3 -")
	s, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning, State: posthouse.State{}}})
	t.OK(err)
	sendSignal(d, "t", "go", "4")
	p, err := commit.Pending(t.Ctx, d.Ledger.Core(), "t", "", "go", false)
	t.OK(err)
	if len(p) != 1 || string(p[0].Value) != "4" || p[0].By != "alice" {
		t.Fatalf("pending: %v", p)
	}
	draft := func() *ledger.Draft {
		return &ledger.Draft{
			Thread: "t", ConsumedSignals: []posthouse.Take{{Name: "go", Signal: p[0].Seq}},
			Steps: []posthouse.Step{{Task: "1/n", Name: "signal:go", Value: posthouse.Value{Data: p[0].Value}}},
		}
	}
	_, err = d.Commit(t.Ctx, draft())
	t.OK(err)
	_, err = d.Commit(t.Ctx, draft())
	d.WantErr(err, posthouse.ErrConflict)
	f, err := d.Fork(t.Ctx, s.Checkpoint.ID, nil)
	t.OK(err)
	wantAnswers(d, waitForSignal(d, "t", f.Branch, nil, "go", "go"), "4 -")
}

func ledgerSignalOnce(t *desk.T) {
	d, other := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	c := waitForSignal(d, "t", "", nil, "go")
	d.Root("u", "u", "x")
	s := posthouse.Signal{ID: "mine", Name: "go", Value: json.RawMessage("1")}
	one, err := d.Signal(t.Ctx, "t", s)
	t.OK(err)
	two, err := other.Signal(t.Ctx, "t", s)
	t.OK(err)
	if one.Seq != two.Seq || string(two.Value) != "1" || len(two.Gates) != 1 {
		t.Errorf("sent again: %+v", two)
	}
	_, err = other.Signal(t.Ctx, "u", s)
	other.WantErr(err, posthouse.ErrExists)
	object := posthouse.Signal{ID: "object", Name: "go", Value: json.RawMessage(`{"a":1,"b":["x"]}`)}
	first, err := d.Signal(t.Ctx, "t", object)
	t.OK(err)
	object.Value = json.RawMessage("{ \"b\": [\"\\u0078\"],\n \"a\": 1 }")
	again, err := other.Signal(t.Ctx, "t", object)
	t.OK(err)
	if again.Seq != first.Seq {
		t.Errorf("the same event in other spelling is entry %d, the first is entry %d", again.Seq, first.Seq)
	}
	for _, change := range []func(*posthouse.Signal){
		func(s *posthouse.Signal) { s.Value = json.RawMessage("2") },
		func(s *posthouse.Signal) { s.Name = "other" },
		func(s *posthouse.Signal) { s.ID = c.Checkpoint.ID },
		func(s *posthouse.Signal) { s.ID = c.Gates[0].ID },
	} {
		bad := s
		change(&bad)
		_, err = other.Signal(t.Ctx, "t", bad)
		other.WantErr(err, posthouse.ErrExists)
	}
	_, err = other.Get(t.Ctx, "mine")
	other.WantErr(err, posthouse.ErrNotFound)
	_, err = other.GetHeader(t.Ctx, "mine")
	other.WantErr(err, posthouse.ErrNotFound)
	_, err = other.Gate(t.Ctx, "mine")
	other.WantErr(err, posthouse.ErrNotFound)
	_, err = other.Signal(t.Ctx, "t", posthouse.Signal{Name: "big", Value: json.RawMessage(`"` + strings.Repeat("x", posthouse.MaxSignal) + `"`)})
	other.WantErr(err, posthouse.ErrTooLarge)
}

func ledgerSignalEarly(t *desk.T) {
	d := t.Desk(ledger.Options{})
	s := posthouse.Signal{ID: "early", Name: "go", Value: json.RawMessage("7")}
	_, err := d.Signal(t.Ctx, "t", s)
	d.WantErr(err, posthouse.ErrNotFound)
	s.Early = true
	_, err = d.Signal(t.Ctx, "t", s)
	t.OK(err)
	wantAnswers(d, waitForSignal(d, "t", "", nil, "go"), "7")
	_, err = retain.DeleteThread(t.Ctx, d.Ledger, "t", nil)
	t.OK(err)
	if _, err := t.Store.Find(t.Ctx, "early"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("the deleted thread's signal is still found: %v", err)
	}
	_, err = d.Signal(t.Ctx, "t", s) // it comes again: what was deleted stays so
	d.WantErr(err, posthouse.ErrNotFound)
	d.Root("t", "t", "x")
	_, err = d.Signal(t.Ctx, "t", s)
	t.OK(err)
	wantAnswers(d, waitForSignal(d, "t", "", nil, "go", "go"), "7 -")
	_, err = d.Release(t.Ctx, "t", nil)
	t.OK(err)
	s.ID = "next"
	_, err = d.Signal(t.Ctx, "t", s) // a name that was released begins again
	t.OK(err)
}

func ledgerInboxOfPeople(t *desk.T) {
	d := t.Desk(ledger.Options{})
	soon := d.Clock.Now().Add(time.Hour)
	c := d.Ask("t",
		posthouse.Gate{Name: "sleep", Kind: posthouse.GateTimer, ExpiresAt: soon},
		posthouse.Gate{Name: "go", Kind: posthouse.GateSignal, Signal: "go"},
		posthouse.Gate{Name: "child", Kind: posthouse.GateThread, ExpiresAt: soon},
		posthouse.Gate{Name: "pick", Kind: "choice"}, posthouse.Gate{Name: "ok?"})
	for want, q := range map[string]ledger.GateQuery{
		"pick ok?": {}, "sleep go child pick ok?": {All: true}, "sleep": {Kind: posthouse.GateTimer}, "pick": {Kind: "choice"}, "ok?": {Kind: posthouse.GateApproval},
	} {
		var names []string
		for g, err := range d.Gates(t.Ctx, q) {
			t.OK(err)
			names = append(names, g.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%+v lists %q, want %q", q, got, want)
		}
	}
	for i := range c.Gates[:3] {
		_, err := d.Decide(t.Ctx, c.Gates[i].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
		d.WantErr(err, posthouse.ErrForbidden)
		_, err = d.Withdraw(t.Ctx, c.Gates[i].ID, ledger.Withdrawal{By: "bob", Operator: true})
		t.OK(err)
	}
}
