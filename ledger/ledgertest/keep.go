package ledgertest

import (
	"bytes"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
)

// ledgerKeepCases are about what must outlive the removal of something else.
func ledgerKeepCases() []Case {
	return []Case{
		{Name: "ledger/retention keeps what an execution has on record", Rule: "Evicting and compacting the earlier waits of an unfinished execution takes neither its results nor its answers: nothing runs again.", Run: ledgerKeepsExecution},
		{Name: "ledger/an update in the middle of a step", Rule: "It keeps results and answers that the step's executions have on record, through compaction and forks; what nobody answered they ask anew.", Run: ledgerUpdatesInStep},
		{Name: "ledger/an execution that begins with its thread", Rule: "Results recorded before a thread's first checkpoint are on record for an execution that this checkpoint does not end.", Run: ledgerFirstExecution},
		{Name: "ledger/deleting an id takes its earlier revisions", Rule: "No body of any revision of a deleted checkpoint is left, unless a kept one is rebuilt from it.", Run: ledgerDeletesRevisions},
		{Name: "ledger/replacing what is not the head leaves the head alone", Rule: "A new revision of an older checkpoint without children cancels no question of its branch and moves no head.", Run: ledgerReplacesOlder},
		{Name: "ledger/deleting the wait that asked ends the waiting", Rule: "A branch whose last open question goes with an earlier checkpoint is interrupted, not waiting for ever.", Run: ledgerEndsWaiting},
	}
}

func ledgerFirstExecution(t *T) {
	d := t.desk(ledger.Options{})
	d.step("t", "1/flow", "a")
	w := d.wait("t", "1/flow", nil)
	x, err := t.desk(ledger.Options{}).Core().Execution(t.ctx, w.Checkpoint, "1/flow")
	t.OK(err)
	if len(x.Steps) != 1 || len(x.Gates) != 1 {
		t.Errorf("%d steps and %d gates on record, want one of each", len(x.Steps), len(x.Gates))
	}
}

func ledgerDeletesRevisions(t *T) {
	d := t.desk(ledger.Options{})
	first := d.root("t", "", "0")
	c := first.Derive(state("secret one"))
	c.ID = "x"
	d.save(c)
	c.State = state("secret two")
	_, err := d.Save(t.ctx, c, &ledger.SaveOptions{Replace: true})
	t.OK(err)
	del, err := retain.Delete(t.ctx, d.Ledger, "x", nil)
	t.OK(err)
	if del.Checkpoints != 1 || del.Bodies != 2 {
		t.Errorf("%+v", del)
	}
	for e, err := range t.Store.Read(t.ctx, "t", posthouse.Range{}) {
		t.OK(err)
		for _, b := range e.Bodies {
			if bytes.Contains(b, []byte("secret")) {
				t.Errorf("entry %d still holds the deleted text", e.Seq)
			}
		}
	}
	if got := d.get(first.ID); content(got) != "0" {
		t.Errorf("the parent is %q", content(got))
	}
}

func ledgerReplacesOlder(t *T) {
	d := t.desk(ledger.Options{})
	old := d.root("t", "", "0")
	d.root("t", "", "1")
	done := d.ask("t", posthouse.Gate{Name: "ok?"})
	again := &posthouse.Checkpoint{Header: posthouse.Header{ID: old.ID, Thread: "t"}, State: state("2")}
	_, err := d.Save(t.ctx, again, &ledger.SaveOptions{Replace: true})
	t.OK(err)
	info, err := d.Thread(t.ctx, "t")
	t.OK(err)
	if b, _ := info.Branch(""); len(info.Waiting) != 1 || b.Head != done.Checkpoint.ID || info.Status != posthouse.StatusWaiting {
		t.Errorf("the thread is now %+v", info)
	}
	if next := d.derive(d.get(done.Checkpoint.ID), "3"); next.Parent != done.Checkpoint.ID {
		t.Errorf("parent %s", next.Parent)
	}
}

func ledgerEndsWaiting(t *T) {
	d := t.desk(ledger.Options{})
	d.root("t", "", "0")
	first := d.wait("t", "1/n", nil)
	d.wait("t", "1/n", []posthouse.ID{first.Gates[0].ID}, "kept")
	_, err := retain.Delete(t.ctx, d.Ledger, first.Checkpoint.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
	t.OK(err)
	info, err := d.Thread(t.ctx, "t")
	t.OK(err)
	if len(info.Waiting) != 0 || info.Status != posthouse.StatusInterrupted {
		t.Errorf("the thread is %q with %d gates", info.Status, len(info.Waiting))
	}
}

// step records a result as an entry of its own.
func (d *desk) step(thread, task, name string) {
	d.Helper()
	_, err := d.Commit(d.ctx, &ledger.Draft{Thread: thread, Steps: []posthouse.Step{{
		Task: task, Name: name, Value: posthouse.Value{Codec: "raw", Data: []byte("result of " + name)},
	}}})
	d.OK(err)
}

// wait parks a thread in a task: with a new question, or on those it keeps.
func (d *desk) wait(thread, task string, keep []posthouse.ID, metadata ...string) *posthouse.Committed {
	d.Helper()
	draft := &ledger.Draft{Thread: thread, Keep: keep, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"n"},
	}}
	for _, m := range metadata {
		draft.Checkpoint.Metadata = map[string]string{"note": m}
	}
	if keep == nil {
		draft.Gates = []posthouse.Gate{{Name: "ok?", Task: task}}
	}
	done, err := d.Commit(d.ctx, draft)
	d.OK(err)
	return done
}

func ledgerKeepsExecution(t *T) {
	d := t.desk(ledger.Options{MaxCheckpoints: 2})
	d.root("t", "", "0")
	var last *posthouse.Committed
	for _, name := range []string{"a", "b", "c", "d"} {
		d.step("t", "2/n", name)
		last = d.wait("t", "2/n", nil)
		if name != "d" {
			_, err := d.Decide(t.ctx, last.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
			t.OK(err)
		}
	}
	if _, err := retain.Compact(t.ctx, d.Ledger); err != nil && !errors.Is(err, posthouse.ErrUnsupported) {
		t.OK(err)
	}
	check := func(h *posthouse.Header, decided int) {
		t.Helper()
		x, err := t.desk(ledger.Options{}).Core().Execution(t.ctx, h, "2/n")
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
		f, err := d.Fork(t.ctx, last.Checkpoint.ID, o)
		t.OK(err)
		check(&f.Header, 3)
	}
}

func ledgerUpdatesInStep(t *T) {
	d := t.desk(ledger.Options{MaxCheckpoints: 2})
	root := d.root("t", "", "0")
	d.step("t", "2/n", "a")
	answered := d.wait("t", "2/n", nil)
	_, err := d.Decide(t.ctx, answered.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Cancel, By: "alice"})
	t.OK(err)
	d.step("t", "2/n", "b")
	open := d.wait("t", "2/n", nil)
	update := &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindUpdate, Status: posthouse.StatusInterrupted, SameStep: true, Skipped: 1,
	}}
	_, err = d.Commit(t.ctx, update)
	d.wantErr(err, posthouse.ErrInvalid)
	update.Checkpoint.Skipped = 0
	done, err := d.Commit(t.ctx, update)
	t.OK(err)
	if done.Checkpoint.Step != root.Step {
		t.Errorf("it is at step %d, want %d", done.Checkpoint.Step, root.Step)
	}
	g, err := d.Gate(t.ctx, open.Gates[0].ID)
	if t.OK(err); g.Decision == nil || g.Decision.Verdict != posthouse.Cancel {
		t.Errorf("the open question has the decision %+v", g.Decision)
	}
	again, err := d.Commit(t.ctx, &ledger.Draft{Thread: "t", Checkpoint: update.Checkpoint})
	t.OK(err)
	if _, err := retain.Compact(t.ctx, d.Ledger); err != nil && !errors.Is(err, posthouse.ErrUnsupported) {
		t.OK(err)
	}
	fork, err := d.Fork(t.ctx, again.Checkpoint.ID, &ledger.ForkOptions{Thread: "copy"})
	t.OK(err)
	for _, h := range []*posthouse.Header{again.Checkpoint, &fork.Header} {
		x, err := t.desk(ledger.Options{}).Core().Execution(t.ctx, h, "2/n")
		t.OK(err)
		x.Gates = slices.DeleteFunc(x.Gates, (*posthouse.Gate).Withdrawn) // known, as what is asked anew replaces it
		if len(x.Steps) != 2 || len(x.Gates) != 1 || x.Gates[0].Decision == nil || x.Gates[0].Decision.By != "alice" {
			t.Errorf("thread %s: %d steps, gates %+v on record; want 2 and the answered one", h.Thread, len(x.Steps), x.Gates)
		}
	}
}
