package ledgertest

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

func ledgerSignalReturned(t *desk.T) {
	d, other := t.Desk(ledger.Options{}), t.Desk(ledger.Options{})
	leave := func(thread, branch, kind string) *posthouse.Committed {
		t.Helper()
		done, err := d.Commit(t.Ctx, &ledger.Draft{Thread: thread, Branch: branch, Checkpoint: &posthouse.Change{Kind: kind, Status: posthouse.StatusRunning}})
		t.OK(err)
		return done
	}
	for _, kind := range []string{posthouse.KindInput, posthouse.KindUpdate} {
		thread := "left by " + kind
		waitForSignal(d, thread, "", nil, "go", "go")
		sendSignal(other, thread, "go", "1")
		sendSignal(other, thread, "go", "2")
		sendSignal(other, thread, "go", "3")
		left := leave(thread, "", kind)
		leave(thread, "", kind) // once
		f, err := d.Fork(t.Ctx, left.Checkpoint.ID, nil)
		t.OK(err)
		sendSignal(other, thread, "go", "4")
		wantAnswers(other, waitForSignal(other, thread, "", nil, "go"), "1")
		leave(thread, "", posthouse.KindNode) // the program had it
		wantAnswers(d, waitForSignal(d, thread, "", nil, "go", "go", "go", "go"), "2 3 4 -")
		wantAnswers(d, waitForSignal(d, thread, f.Branch, nil, "go", "go", "go", "go"), "1 2 3 4")
	}

	// A withdrawal that comes after the answer: another wait that stays open takes it.
	open := waitForSignal(d, "late", "", nil, "go", "go", "go")
	sendSignal(other, "late", "go", "1")
	_, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "late", Steps: []posthouse.Step{{Task: "1/n", Name: "first"}}, Withdraw: []posthouse.ID{open.Gates[0].ID, open.Gates[1].ID}})
	t.OK(err)
	g, err := other.Gate(t.Ctx, open.Gates[2].ID)
	t.OK(err)
	if g.Decision == nil || string(g.Decision.Value) != "1" {
		t.Errorf("the wait that stayed open has %+v", g.Decision)
	}
}
