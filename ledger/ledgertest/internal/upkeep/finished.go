package upkeep

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/transfer"
)

// finishedCases are about policies that take whole threads.
func finishedCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/finished threads go as a whole", Rule: "A policy takes threads that ended and their slots, and says in a dry run which. What may go on, may still be approved, is held, was released, is kept by a label, or is needed by another thread stays.", Run: finishes},
		{Name: "ledger/a finished thread that moved stays", Rule: "What moved since the policy's time stays, and so does one that begins again.", Run: finishesNothingYoung},
	}
}

// A finisher makes threads that ended in some way.
type finisher struct {
	*desk.T
	d *desk.Desk
}

// end commits a checkpoint with a status to a branch.
func (f finisher) end(thread, branch string, status posthouse.Status, labels map[string]string) *posthouse.Committed {
	f.Helper()
	kind := posthouse.KindNode
	var next []string
	switch status {
	case posthouse.StatusFailed:
		kind, next = posthouse.KindFail, []string{"n"}
	case posthouse.StatusInterrupted, posthouse.StatusRunning:
		next = []string{"n"}
	}
	done, err := f.d.Commit(f.Ctx, &ledger.Draft{Thread: thread, Branch: branch, Checkpoint: &posthouse.Change{
		Kind: kind, Status: status, Graph: "g", Next: next, Labels: labels, State: desk.State(thread),
	}})
	f.OK(err)
	return done
}

// approved asks for an effect and has it approved; the branch then ends with a status.
func (f finisher) approved(thread string, status posthouse.Status) {
	f.Helper()
	asked := f.d.Ask(thread, posthouse.Gate{Name: "pay?", Uses: 1, ValidFor: 100 * 24 * time.Hour})
	_, err := f.d.Decide(f.Ctx, asked.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	f.OK(err)
	f.end(thread, "", status, nil)
}

func finishes(t *desk.T) {
	now := t.Builder.Now()
	d := t.Desk(ledger.Options{Now: func() time.Time { return now }})
	f := finisher{t, d}
	goes := []string{"cancelled", "done", "failed", "interrupted", "paid"}
	f.end("done", "", posthouse.StatusDone, nil)
	f.end("cancelled", "", posthouse.StatusCancelled, nil)
	f.end("failed", "", posthouse.StatusFailed, nil)
	f.end("interrupted", "", posthouse.StatusInterrupted, nil)
	f.approved("paid", posthouse.StatusDone)
	for _, thread := range []string{"done", "stays-running"} {
		_, err := t.Store.Slot(t.Ctx, posthouse.SlotKey{Thread: thread, Step: "task"}, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("1")})
		t.OK(err)
	}

	f.end("stays-running", "", posthouse.StatusRunning, nil)
	f.approved("stays-failed", posthouse.StatusFailed)
	f.approved("stays-interrupted", posthouse.StatusInterrupted)
	d.Root("stays-waiting", "", "0")
	d.Ask("stays-waiting", posthouse.Gate{Name: "ok?"})
	f.end("stays-held", "", posthouse.StatusDone, nil)
	_, err := retain.Hold(t.Ctx, d.Ledger, "stays-held", retain.HoldOptions{By: "legal"})
	t.OK(err)
	f.end("stays-labelled", "", posthouse.StatusDone, map[string]string{"milestone": "1"})
	f.end("stays-branch", "", posthouse.StatusDone, nil)
	fork, err := d.Fork(t.Ctx, f.end("stays-branch", "", posthouse.StatusDone, nil).Checkpoint.ID, nil)
	t.OK(err)
	f.end("stays-branch", fork.Branch, posthouse.StatusRunning, nil)
	d.Root("stays-released", "", "0")
	d.MustRelease("stays-released", nil)
	f.end("stays-released", "", posthouse.StatusDone, nil)
	forked, err := d.Fork(t.Ctx, f.end("stays-source", "", posthouse.StatusDone, nil).Checkpoint.ID, &ledger.ForkOptions{Thread: "stays-fork"})
	t.OK(err)
	f.end(forked.Thread, "", posthouse.StatusRunning, nil)
	f.end("stays-original", "", posthouse.StatusDone, nil)
	_, err = transfer.CopyThread(t.Ctx, d.Ledger, "stays-original", "stays-copy", nil)
	t.OK(err)
	f.end("stays-copy", "", posthouse.StatusRunning, nil)
	f.end("stays-parent", "", posthouse.StatusRunning, nil)
	f.end("stays-child", "", posthouse.StatusDone, map[string]string{"parent": "stays-parent", "called": "stays-child"})

	var all []string
	for info, err := range d.Threads(t.Ctx, posthouse.ThreadQuery{}) {
		t.OK(err)
		all = append(all, info.Thread)
	}
	now = now.Add(2 * time.Hour)
	policy := retain.Policy{Finished: time.Hour, KeepLabels: map[string]string{"milestone": ""}}
	for _, dry := range []bool{true, false} {
		done, err := retain.Run(t.Ctx, d.Ledger, policy, &retain.Options{DryRun: dry})
		t.OK(err)
		slices.Sort(done.FinishedThreads)
		if done.Finished != len(goes) || !slices.Equal(done.FinishedThreads, goes) || done.Changed != len(goes) || done.Bytes == 0 {
			t.Errorf("dry run %t: %+v, want %v", dry, done, goes)
		}
	}
	var left []string
	for info, err := range d.Threads(t.Ctx, posthouse.ThreadQuery{}) {
		t.OK(err)
		if !info.Gone() {
			left = append(left, info.Thread)
		}
	}
	if want := slices.DeleteFunc(all, func(s string) bool { return slices.Contains(goes, s) }); !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	_, err = t.Store.Slot(t.Ctx, posthouse.SlotKey{Thread: "done", Step: "task"}, posthouse.SlotOp{Verb: posthouse.SlotGet})
	t.WantCode("the slot of a finished thread", err, posthouse.CodeNotFound)
	_, err = t.Store.Slot(t.Ctx, posthouse.SlotKey{Thread: "stays-running", Step: "task"}, posthouse.SlotOp{Verb: posthouse.SlotGet})
	t.OK(err)

	_, err = retain.DeleteThread(t.Ctx, d.Ledger, "stays-parent", nil)
	t.OK(err)
	done, err := retain.Run(t.Ctx, d.Ledger, retain.Policy{Finished: time.Hour, DropSources: true}, nil)
	t.OK(err)
	slices.Sort(done.FinishedThreads)
	if want := []string{"stays-child", "stays-labelled", "stays-original", "stays-source"}; !slices.Equal(done.FinishedThreads, want) {
		t.Errorf("with sources, once the parent has gone: %v, want %v", done.FinishedThreads, want)
	}
}

func finishesNothingYoung(t *desk.T) {
	now := t.Builder.Now()
	d := t.Desk(ledger.Options{Now: func() time.Time { return now }})
	f := finisher{t, d}
	f.end("old", "", posthouse.StatusDone, nil)
	f.end("again", "", posthouse.StatusDone, nil)
	now = now.Add(30 * time.Minute)
	f.end("young", "", posthouse.StatusDone, nil)
	f.end("again", "", posthouse.StatusDone, nil)
	now = now.Add(45 * time.Minute)
	done, err := retain.Run(t.Ctx, d.Ledger, retain.Policy{Finished: time.Hour}, nil)
	t.OK(err)
	if !slices.Equal(done.FinishedThreads, []string{"old"}) || done.Busy+done.Held != 0 {
		t.Errorf("%+v", done)
	}
	f.end("old", "", posthouse.StatusDone, nil) // the name is free
	now = now.Add(2 * time.Hour)
	done, err = retain.Run(t.Ctx, d.Ledger, retain.Policy{Finished: time.Hour}, nil)
	t.OK(err)
	if done.Finished != 3 {
		t.Errorf("%+v", done)
	}
}
