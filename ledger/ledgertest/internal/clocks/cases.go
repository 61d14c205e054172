package clocks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

// Cases lists them.
func Cases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/clocks that jump: order", Rule: "Whatever the clocks of those who write a thread say, and however they jump, its entries follow each other by sequence: heads, histories, the log, signals and watches. The ids of a process ascend.", Run: order},
		{Name: "ledger/clocks that jump: decisions", Rule: "A decision on record stands, whatever the clock says afterwards; so does the end of a deadline. By the clock of who decides, nothing ends before its deadline, and nothing twice.", Run: decisions},
		{Name: "ledger/clocks that jump: leases", Rule: "A process keeps its thread while it renews its liveness, though its clock, or that of who wants the thread, is an hour off or jumps by one. It loses it after its silence alone, by the clock of who claims.", Run: leases},
	}
}

// jumps are what a clock is moved by, each from where the last one left it. In the end it is
// later than ever: the clocks of the cases have no monotonic reading, unlike those of
// processes, so a lease that was seen in their future would have to wait for that.
var jumps = []time.Duration{-time.Hour, time.Hour, time.Hour, -2 * time.Hour, time.Second, 90 * time.Minute, -time.Hour, 2 * time.Hour}

func order(t *desk.T) {
	d, fast := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	fast.Clock.Advance(time.Hour)
	last := d.Root("t", "", "0")
	ids, want := []posthouse.ID{last.ID}, []string{"0"}
	waitForSignal(d, "never")
	var sent []string
	for i, jump := range jumps {
		d.Clock.Advance(jump)
		for _, by := range []*desk.Desk{d, fast} {
			want = append(want, fmt.Sprint(len(want)))
			last = by.Derive(last, want[len(want)-1])
			if by == d {
				ids = append(ids, last.ID)
			}
		}
		for n, by := range []*desk.Desk{d, fast} {
			_, err := by.Signal(t.Ctx, "signals", posthouse.Signal{Name: "go", Value: json.RawMessage(fmt.Sprint(2*i + n)), By: "alice"})
			t.OK(err)
		}
		sent = append(sent, fmt.Sprint(2*i), fmt.Sprint(2*i+1))
	}
	if !slices.IsSorted(ids) {
		t.Errorf("the ids of a process do not ascend: %v", ids)
	}
	again := t.Desk(ledger.Options{})
	newest := slices.Clone(want)
	slices.Reverse(newest)
	for _, l := range []*desk.Desk{d, fast, again} {
		l.WantStates(posthouse.Query{Thread: "t"}, want...)
		l.WantStates(posthouse.Query{Thread: "t", Descending: true}, newest...)
		if head, err := l.Latest(t.Ctx, ledger.LatestQuery{Thread: "t"}); err != nil || head.ID != last.ID {
			t.Errorf("the latest is %+v, %v; want %s", head, err, last.ID)
		}
		seq := uint64(0)
		for e, err := range l.Log(t.Ctx, "t", posthouse.Range{}) {
			t.OK(err)
			if seq++; e.Seq != seq {
				t.Errorf("entry %d of the log is number %d", e.Seq, seq)
			}
		}
		if seq != last.Seq {
			t.Errorf("the log has %d entries, want %d", seq, last.Seq)
		}
	}
	seen := uint64(0)
	for e, err := range again.Watch(t.Ctx, ledger.WatchQuery{Thread: "t"}) {
		t.OK(err)
		if e.Seq < seen {
			t.Errorf("the watch shows entry %d behind %d", e.Seq, seen)
		}
		seen = e.Seq
		if seen == last.Seq {
			break
		}
	}
	for n := range sent { // each wait takes the oldest that is left
		g, err := again.Gate(t.Ctx, waitForSignal(again, "go").Gates[0].ID)
		t.OK(err)
		if g.Decision == nil || string(g.Decision.Value) != sent[n] {
			t.Errorf("wait %d is answered by %+v, want %s", n, g.Decision, sent[n])
		}
	}
}

// waitForSignal commits a checkpoint of thread "signals" that waits for one.
func waitForSignal(d *desk.Desk, name string) *posthouse.Committed {
	d.Helper()
	done, err := d.Commit(d.Ctx, &ledger.Draft{
		Thread: "signals", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		Gates: []posthouse.Gate{{Name: "signal:" + name, Kind: posthouse.GateSignal, Signal: name}},
	})
	d.OK(err)
	return done
}

func byAlice() posthouse.Decision {
	return posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}
}

func decisions(t *desk.T) {
	d, other := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	deadline := d.Clock.Now().Add(90 * time.Minute)
	ask := func(thread string, kind string) posthouse.ID {
		return d.Ask(thread, posthouse.Gate{Name: "ok?", Kind: kind, ExpiresAt: deadline}).Gates[0].ID
	}
	stands := func(thread string, gate posthouse.ID, verdict posthouse.Verdict, by string) {
		t.Helper()
		for _, l := range []*desk.Desk{d, other, t.Desk(ledger.Options{})} {
			g, err := l.Gate(t.Ctx, gate)
			t.OK(err)
			if g.Decision == nil || g.Decision.Verdict != verdict || g.Decision.By != by {
				t.Errorf("thread %s: decided is %+v, want %s by %s", thread, g.Decision, verdict, by)
			}
			_, again := l.Decide(t.Ctx, gate, posthouse.Decision{Verdict: posthouse.Reject, By: "bob"})
			if !desk.IsCode(again, posthouse.CodeDecided) && !desk.IsCode(again, posthouse.CodeExpired) {
				t.Errorf("thread %s: another decision: %v", thread, again)
			}
			if _, late := commit.Expire(t.Ctx, l.Core(), gate); !desk.IsCode(late, posthouse.CodeDecided) && !desk.IsCode(late, posthouse.CodeExpired) {
				t.Errorf("thread %s: its deadline again: %v", thread, late)
			}
		}
		n := 0
		for e, err := range d.Log(t.Ctx, thread, posthouse.Range{}) {
			t.OK(err)
			for _, r := range e.Records {
				if r.Decision != nil {
					n++
				}
			}
		}
		if n != 1 {
			t.Errorf("thread %s has %d decisions", thread, n)
		}
		if info, err := d.Thread(t.Ctx, thread); err != nil || info.Status != posthouse.StatusReady {
			t.Errorf("thread %s is %+v, %v", thread, info, err)
		}
	}

	early, open, late, raced, timer := ask("early", ""), ask("open", ""), ask("late", ""), ask("raced", ""), ask("timer", posthouse.GateTimer)
	d.Clock.Advance(-time.Hour) // before the questions were asked
	_, err := d.Decide(t.Ctx, early, byAlice())
	t.OK(err)
	_, err = commit.Expire(t.Ctx, d.Core(), timer)
	d.WantErr(err, posthouse.ErrConflict)
	d.Clock.Advance(2 * time.Hour) // an hour ahead: half an hour is left
	_, err = commit.Expire(t.Ctx, d.Core(), open)
	d.WantErr(err, posthouse.ErrConflict)
	_, err = d.Decide(t.Ctx, open, byAlice())
	t.OK(err)
	other.Clock.Advance(-time.Hour)
	_, err = other.Decide(t.Ctx, raced, byAlice()) // in time, by the clock of who decides
	t.OK(err)
	d.Clock.Advance(time.Hour) // past the deadline
	_, err = d.Decide(t.Ctx, late, byAlice())
	d.WantErr(err, posthouse.ErrExpired)
	_, err = commit.Expire(t.Ctx, d.Core(), timer)
	t.OK(err)
	for _, jump := range []time.Duration{0, -2 * time.Hour, time.Hour, 2 * time.Hour} {
		d.Clock.Advance(jump)
		stands("early", early, posthouse.Approve, "alice")
		stands("open", open, posthouse.Approve, "alice")
		stands("raced", raced, posthouse.Approve, "alice")
		stands("late", late, posthouse.Expire, posthouse.RuntimeActor)
		stands("timer", timer, posthouse.Expire, posthouse.RuntimeActor)
	}
}

// A frozen store is that of a process after its heartbeat has stopped.
type frozen struct{ posthouse.Store }

func (f frozen) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb == posthouse.SlotPut && key.Thread == posthouse.ProcessThread {
		return posthouse.Slot{}, nil
	}
	return f.Store.Slot(ctx, key, op)
}

// running returns the draft of a run's step under a claim.
func running(c *ledger.Claim) *ledger.Draft {
	return &ledger.Draft{Thread: "t", Claim: c, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Next: []string{"n"}, Parts: []posthouse.Part{{Name: "p", Codec: "raw", Data: []byte("x")}},
	}}
}

func leases(t *desk.T) {
	x, ok := t.Store.(posthouse.Excluder)
	exclusive := ok && x.Exclusive()
	mine := posthouse.Store(frozen{t.Store}) // renewals are made by hand
	if exclusive {
		mine = t.Store // no beats are made
	}
	old := t.DeskOn(mine, ledger.Options{Owner: "old"})
	alive := t.Desk(ledger.Options{Owner: "old"})
	fresh := t.Desk(ledger.Options{LeaseTTL: 10 * time.Second})
	c, err := old.Claim(t.Ctx, "t", "run-1")
	t.OK(err)
	step := uint32(0)
	acts := func() {
		t.Helper()
		t.OK(alive.Core().Heartbeat(t.Ctx))
		_, err := old.Commit(t.Ctx, &ledger.Draft{Thread: "t", Claim: c, Steps: []posthouse.Step{{Task: "1/n", Name: "s", Occurrence: step}}})
		t.OK(err)
		step++
	}
	_, err = old.Commit(t.Ctx, running(c))
	t.OK(err)
	taken := func(after string) {
		t.Helper()
		if _, err := fresh.Claim(t.Ctx, "t", "run-2"); !desk.IsCode(err, posthouse.CodeBusy) {
			t.Fatalf("%s: claiming a thread that is run: %v", after, err)
		}
		acts()
	}
	taken("at first")
	for _, jump := range jumps {
		for _, of := range []struct {
			who   string
			clock []*desk.Desk
		}{{"the owner's clock", []*desk.Desk{old, alive}}, {"the clock of who claims", []*desk.Desk{fresh}}, {"all clocks", []*desk.Desk{old, alive, fresh}}} {
			for _, l := range of.clock {
				l.Clock.Advance(jump)
			}
			t.OK(c.Confirm(t.Ctx))
			t.OK(alive.Core().Heartbeat(t.Ctx))
			taken(fmt.Sprint(of.who, " jumps by ", jump))
			fresh.Clock.Advance(9 * time.Second)
			t.OK(alive.Core().Heartbeat(t.Ctx))
			taken(fmt.Sprint(of.who, " has jumped by ", jump))
		}
	}
	if exclusive {
		t.OK(old.Close()) // nothing else ends it, where only this process has the store
	} else {
		_, err = fresh.Claim(t.Ctx, "t", "run-2") // sees the last renewal
		fresh.WantErr(err, posthouse.ErrBusy)
		old.Clock.Advance(-time.Hour)
		fresh.Clock.Advance(9 * time.Second)
		_, err = fresh.Claim(t.Ctx, "t", "run-2")
		fresh.WantErr(err, posthouse.ErrBusy)
		fresh.Clock.Advance(time.Second)
	}
	c2, err := fresh.Claim(t.Ctx, "t", "run-2")
	t.OK(err)
	_, err = fresh.Commit(t.Ctx, running(c2))
	t.OK(err)
	_, err = old.Commit(t.Ctx, running(c))
	if !desk.IsCode(err, posthouse.CodeFenced) && !desk.IsCode(err, posthouse.CodeClosed) {
		t.Errorf("a commit of the run that lost its thread: %v", err)
	}
}
