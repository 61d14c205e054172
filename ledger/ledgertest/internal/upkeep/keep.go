package upkeep

import (
	"bytes"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

// keepCases are about what must stay when something else is removed.
func keepCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/retention keeps what an execution has on record", Rule: "Evicting and compacting the earlier waits of an unfinished execution takes neither its results nor its answers: nothing runs again.", Run: keepsExecution},
		{Name: "ledger/retention keeps what a fork of a revision has on record", Rule: "A checkpoint that was replaced in the middle of its execution may go, with what follows it: a fork of it keeps the results that were on record.", Run: keepsForkOfRevision},
		{Name: "ledger/an update in the middle of a step", Rule: "It keeps results and answers that the step's executions have on record, through compaction and forks; what nobody answered they ask anew.", Run: updatesInStep},
		{Name: "ledger/an execution that begins with its thread", Rule: "Results recorded before a thread's first checkpoint are on record for an execution that this checkpoint does not end.", Run: firstExecution},
		{Name: "ledger/deleting an id takes its earlier revisions", Rule: "No body of any revision of a deleted checkpoint is left, unless a kept one is rebuilt from it.", Run: deletesRevisions},
		{Name: "ledger/replacing what is not the head leaves the head alone", Rule: "A new revision of an older checkpoint without children cancels no question of its branch and moves no head.", Run: replacesOlder},
		{Name: "ledger/deleting the wait that asked ends the waiting", Rule: "A branch whose last open question goes with an earlier checkpoint is interrupted, not waiting for ever.", Run: endsWaiting},
	}
}

func firstExecution(t *desk.T) {
	d := t.Desk(ledger.Options{})
	d.Step("t", "1/flow", "a")
	w := d.Wait("t", "1/flow", nil)
	x, err := desk.ExecutionOf(t.Ctx, t.Desk(ledger.Options{}).Ledger, w.Checkpoint, "1/flow")
	t.OK(err)
	if len(x.Steps) != 1 || len(x.Gates) != 1 {
		t.Errorf("%d steps and %d gates on record, want one of each", len(x.Steps), len(x.Gates))
	}
}

func deletesRevisions(t *desk.T) {
	d := t.Desk(ledger.Options{})
	first := d.Root("t", "", "0")
	c := first.Derive(desk.State("secret one"))
	c.ID = "x"
	d.MustSave(c)
	c.State = desk.State("secret two")
	_, err := d.Save(t.Ctx, c, &ledger.SaveOptions{Replace: true})
	t.OK(err)
	del, err := retain.Delete(t.Ctx, d.Ledger, "x", nil)
	t.OK(err)
	if del.Checkpoints != 1 || del.Bodies != 2 {
		t.Errorf("%+v", del)
	}
	for e, err := range t.Store.Read(t.Ctx, "t", posthouse.Range{}) {
		t.OK(err)
		for _, b := range e.Bodies {
			if bytes.Contains(b, []byte("secret")) {
				t.Errorf("entry %d still holds the deleted text", e.Seq)
			}
		}
	}
	if got := d.MustGet(first.ID); desk.Content(got) != "0" {
		t.Errorf("the parent is %q", desk.Content(got))
	}
}

func replacesOlder(t *desk.T) {
	d := t.Desk(ledger.Options{})
	old := d.Root("t", "", "0")
	d.Root("t", "", "1")
	done := d.Ask("t", posthouse.Gate{Name: "ok?"})
	again := &posthouse.Checkpoint{Header: posthouse.Header{ID: old.ID, Thread: "t"}, State: desk.State("2")}
	_, err := d.Save(t.Ctx, again, &ledger.SaveOptions{Replace: true})
	t.OK(err)
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if b, _ := info.Branch(""); len(info.Waiting) != 1 || b.Head != done.Checkpoint.ID || info.Status != posthouse.StatusWaiting {
		t.Errorf("the thread is now %+v", info)
	}
	if next := d.Derive(d.MustGet(done.Checkpoint.ID), "3"); next.Parent != done.Checkpoint.ID {
		t.Errorf("parent %s", next.Parent)
	}
}

func endsWaiting(t *desk.T) {
	d := t.Desk(ledger.Options{})
	d.Root("t", "", "0")
	first := d.Wait("t", "1/n", nil)
	d.Wait("t", "1/n", []posthouse.ID{first.Gates[0].ID}, "kept")
	_, err := retain.Delete(t.Ctx, d.Ledger, first.Checkpoint.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
	t.OK(err)
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if len(info.Waiting) != 0 || info.Status != posthouse.StatusInterrupted {
		t.Errorf("the thread is %q with %d gates", info.Status, len(info.Waiting))
	}
}

func keepsExecution(t *desk.T) {
	d := t.Desk(ledger.Options{MaxCheckpoints: 2})
	d.Root("t", "", "0")
	var last *posthouse.Committed
	for _, name := range []string{"a", "b", "c", "d"} {
		d.Step("t", "2/n", name)
		last = d.Wait("t", "2/n", nil)
		if name != "d" {
			_, err := d.Decide(t.Ctx, last.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
			t.OK(err)
		}
	}
	if _, err := retain.Compact(t.Ctx, d.Ledger); err != nil && !errors.Is(err, posthouse.ErrUnsupported) {
		t.OK(err)
	}
	check := func(h *posthouse.Header, decided int) {
		t.Helper()
		x, err := desk.ExecutionOf(t.Ctx, t.Desk(ledger.Options{}).Ledger, h, "2/n")
		t.OK(err)
		n := 0
		for _, g := range x.Gates {
			if g.Decision != nil {
				n++
			}
		}
		if len(x.Steps) != 4 || len(x.Gates) != 4 || n != decided {
			t.Errorf("%d steps and %d gates on record, %d of them decided; want 4, 4, %d", len(x.Steps), len(x.Gates), n, decided)
		}
	}
	check(last.Checkpoint, 3)
	for _, o := range []*ledger.ForkOptions{{Branch: "side"}, {Thread: "u"}} {
		f, err := d.Fork(t.Ctx, last.Checkpoint.ID, o)
		t.OK(err)
		check(&f.Header, 3)
	}
}

func keepsForkOfRevision(t *desk.T) {
	d := t.Desk(ledger.Options{})
	old := d.Root("t", "", "0")
	d.Step("t", "2/n", "a")
	_, err := d.Save(t.Ctx, &posthouse.Checkpoint{Header: posthouse.Header{ID: old.ID, Thread: "t"}, State: desk.State("1")}, &ledger.SaveOptions{Replace: true})
	t.OK(err)
	f, err := d.Fork(t.Ctx, old.ID, &ledger.ForkOptions{Branch: "side"})
	t.OK(err)
	check := func(when string) {
		t.Helper()
		x, err := desk.ExecutionOf(t.Ctx, t.Desk(ledger.Options{}).Ledger, &f.Header, "2/n")
		t.OK(err)
		if len(x.Steps) != 1 {
			t.Errorf("%s the fork has %d results on record, want 1", when, len(x.Steps))
		}
	}
	check("before retention")
	d.Derive(d.Derive(d.MustGet(old.ID), "2"), "3")
	done, err := retain.Run(t.Ctx, d.Ledger, retain.Policy{MaxPerThread: 1, DropSources: true}, nil)
	t.OK(err)
	if done.Checkpoints != 2 {
		t.Errorf("retention removed %d checkpoints, want 2", done.Checkpoints)
	}
	check("after retention")
}

func updatesInStep(t *desk.T) {
	d := t.Desk(ledger.Options{MaxCheckpoints: 2})
	root := d.Root("t", "", "0")
	d.Step("t", "2/n", "a")
	answered := d.Wait("t", "2/n", nil)
	_, err := d.Withdraw(t.Ctx, answered.Gates[0].ID, ledger.Withdrawal{By: "alice", Operator: true})
	t.OK(err)
	d.Step("t", "2/n", "b")
	open := d.Wait("t", "2/n", nil)
	update := &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindUpdate, Status: posthouse.StatusInterrupted, MidStep: true, Skipped: 1,
	}}
	_, err = d.Commit(t.Ctx, update)
	d.WantErr(err, posthouse.ErrInvalid)
	update.Checkpoint.Skipped = 0
	done, err := d.Commit(t.Ctx, update)
	t.OK(err)
	if done.Checkpoint.Step != root.Step {
		t.Errorf("it is at step %d, want %d", done.Checkpoint.Step, root.Step)
	}
	g, err := d.Gate(t.Ctx, open.Gates[0].ID)
	if t.OK(err); g.Decision == nil || g.Decision.Verdict != posthouse.Cancel {
		t.Errorf("the open question has the decision %+v", g.Decision)
	}
	again, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Checkpoint: update.Checkpoint})
	t.OK(err)
	if _, err := retain.Compact(t.Ctx, d.Ledger); err != nil && !errors.Is(err, posthouse.ErrUnsupported) {
		t.OK(err)
	}
	fork, err := d.Fork(t.Ctx, again.Checkpoint.ID, &ledger.ForkOptions{Thread: "copy"})
	t.OK(err)
	for _, h := range []*posthouse.Header{again.Checkpoint, &fork.Header} {
		x, err := desk.ExecutionOf(t.Ctx, t.Desk(ledger.Options{}).Ledger, h, "2/n")
		t.OK(err)
		x.Gates = slices.DeleteFunc(x.Gates, (*posthouse.Gate).Withdrawn) // known, as its successor replaces it
		if len(x.Steps) != 2 || len(x.Gates) != 1 || x.Gates[0].Decision == nil || x.Gates[0].Decision.By != "alice" {
			t.Errorf("thread %s: %d steps, gates %+v on record; want 2 and the answered one", h.Thread, len(x.Steps), x.Gates)
		}
	}
}
