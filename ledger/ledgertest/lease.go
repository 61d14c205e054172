package ledgertest

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

func ledgerLeaseCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/one run at a time", Rule: "While a run has the thread, another claim and a hand-made save are ErrBusy with the holder; parking or releasing frees it.", Run: ledgerOneRun},
		{Name: "ledger/a silent owner's thread is free after its time", Rule: "Another process takes over when the owner's slot has not changed for LeaseTTL, or at once where the store is exclusive; the stale run is then fenced.", Run: ledgerTakeover},
		{Name: "ledger/a Ledger leaves alone what another beside it runs", Rule: "Of two Ledgers over one handle, one has the thread: the other is ErrBusy with the holder until that gives it back or is closed, from the claim on where the store is exclusive.", Run: ledgerBeside},
		{Name: "ledger/anyone may decide while a run has the thread", Rule: "A decision is appended between the holder's entries; the holder re-chains and goes on.", Run: ledgerDecideBeside},
	}
}

// running returns the draft of a run's step: a checkpoint with status s under claim c.
func running(c *ledger.Claim, s posthouse.Status) *ledger.Draft {
	return &ledger.Draft{Thread: "t", Claim: c, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: s, Next: []string{"n"}, Parts: []posthouse.Part{{Name: "p", Codec: "raw", Data: []byte("x")}},
	}}
}

func ledgerOneRun(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c, err := d.Claim(t.Ctx, "t", "run-1")
	t.OK(err)
	_, err = d.Commit(t.Ctx, running(c, posthouse.StatusRunning))
	t.OK(err)
	_, err = d.Claim(t.Ctx, "t", "run-2")
	if e := d.WantErr(err, posthouse.ErrBusy); e.Lease == nil || e.Lease.Run != "run-1" || e.Lease.Owner != d.Core().Config.Owner {
		t.Errorf("holder %+v", e.Lease)
	}
	_, err = d.Save(t.Ctx, &posthouse.Checkpoint{Header: posthouse.Header{Thread: "t"}, State: desk.State("x")}, nil)
	d.WantErr(err, posthouse.ErrBusy)
	t.OK(c.Release(t.Ctx))
	t.OK(c.Release(t.Ctx))
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if info.Lease.Held {
		t.Error("the lease was not given back")
	}
	c, err = d.Claim(t.Ctx, "t", "run-2")
	t.OK(err)
	_, err = d.Commit(t.Ctx, running(c, posthouse.StatusDone))
	t.OK(err)
	tail := d.Tail("t")
	t.OK(c.Release(t.Ctx))
	if d.Tail("t") != tail {
		t.Error("releasing an ended run wrote an entry")
	}
}

func ledgerTakeover(t *desk.T) {
	old := t.DeskOn(frozen{t.Store}, ledger.Options{Owner: "old"})
	alive := t.Desk(ledger.Options{Owner: "old"})
	c, err := old.Claim(t.Ctx, "t", "run-1")
	t.OK(err)
	t.OK(alive.Core().Heartbeat(t.Ctx))
	_, err = old.Commit(t.Ctx, running(c, posthouse.StatusRunning))
	t.OK(err)
	fresh := t.Desk(ledger.Options{LeaseTTL: 10 * time.Second})
	if x, ok := t.Store.(posthouse.Excluder); !ok || !x.Exclusive() {
		_, err = fresh.Claim(t.Ctx, "t", "run-2")
		fresh.WantErr(err, posthouse.ErrBusy)
		fresh.Clock.Advance(9 * time.Second)
		t.OK(alive.Core().Heartbeat(t.Ctx))
		_, err = fresh.Claim(t.Ctx, "t", "run-2") // sees the beat
		fresh.WantErr(err, posthouse.ErrBusy)
		fresh.Clock.Advance(9 * time.Second)
		_, err = fresh.Claim(t.Ctx, "t", "run-2")
		fresh.WantErr(err, posthouse.ErrBusy)
		fresh.Clock.Advance(time.Second)
	}
	c2, err := fresh.Claim(t.Ctx, "t", "run-2")
	t.OK(err)
	_, err = fresh.Commit(t.Ctx, running(c2, posthouse.StatusRunning))
	t.OK(err)
	_, err = old.Commit(t.Ctx, running(c, posthouse.StatusRunning))
	if e := old.WantErr(err, posthouse.ErrFenced); e.Lease == nil || e.Lease.Run != "run-2" || e.Lease.Fence < 2 {
		t.Errorf("fenced by %+v", e.Lease)
	}
	_, err = old.Commit(t.Ctx, &ledger.Draft{Thread: "t", Claim: c, Steps: []posthouse.Step{{Task: "1/n", Name: "s"}}})
	old.WantErr(err, posthouse.ErrFenced)
	if was, is := old.Core().Leases(), fresh.Core().Leases(); was.Lost != 1 || was.Taken != 0 || is.Taken != 1 || is.Lost != 0 || is.Held != 1 {
		t.Errorf("the old owner counts %+v, the new one %+v; want one lost and one taken over", was, is)
	}
	_, err = fresh.Commit(t.Ctx, running(c2, posthouse.StatusDone))
	t.OK(err)
}

func ledgerBeside(t *desk.T) {
	a, b := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	x, ok := t.Store.(posthouse.Excluder)
	exclusive := ok && x.Exclusive()
	taken := func(holder *desk.Desk, run string) {
		t.Helper()
		_, err := b.Claim(t.Ctx, "t", "run-b")
		if e := b.WantErr(err, posthouse.ErrBusy); e.Lease == nil || e.Lease.Owner != holder.Core().Config.Owner || e.Lease.Run != run {
			t.Errorf("holder %+v", e.Lease)
		}
		_, err = b.Save(t.Ctx, &posthouse.Checkpoint{Header: posthouse.Header{Thread: "t"}, State: desk.State("x")}, nil)
		b.WantErr(err, posthouse.ErrBusy)
	}
	c, err := a.Claim(t.Ctx, "t", "run-1")
	t.OK(err)
	if exclusive {
		taken(a, "run-1") // it may act by now, and has nothing on record
	}
	_, err = c.Persist(t.Ctx)
	t.OK(err)
	taken(a, "run-1")
	_, err = a.Commit(t.Ctx, running(c, posthouse.StatusRunning))
	t.OK(err)
	taken(a, "run-1")
	t.OK(c.Release(t.Ctx))
	c, err = b.Claim(t.Ctx, "t", "run-2")
	t.OK(err)
	_, err = b.Commit(t.Ctx, running(c, posthouse.StatusDone)) // gives the lease back, and keeps the claim
	t.OK(err)
	if exclusive {
		_, err = a.Claim(t.Ctx, "t", "run-3")
		a.WantErr(err, posthouse.ErrBusy)
	}
	t.OK(b.Close())
	_, err = a.Claim(t.Ctx, "t", "run-3")
	t.OK(err)
}

func ledgerDecideBeside(t *desk.T) {
	d, other := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	done := d.Ask("t", posthouse.Gate{Name: "ok?"})
	f, err := d.Fork(t.Ctx, done.Checkpoint.ID, &ledger.ForkOptions{Branch: "side"})
	t.OK(err)
	c, err := d.Claim(t.Ctx, "t", "run-1")
	t.OK(err)
	_, err = d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Claim: c, Steps: []posthouse.Step{{Task: "1/ask", Name: "s"}}})
	t.OK(err)
	_, err = other.Decide(t.Ctx, f.Gates[0], posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	t.OK(err)
	_, err = d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Claim: c, Steps: []posthouse.Step{{Task: "1/ask", Name: "s", Occurrence: 1}}})
	t.OK(err)
}

// A frozen store is that of a process after its heartbeat has stopped.
type frozen struct{ posthouse.Store }

func (f frozen) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb == posthouse.SlotPut && key.Thread == posthouse.ProcessThread {
		return posthouse.Slot{}, nil
	}
	return f.Store.Slot(ctx, key, op)
}
