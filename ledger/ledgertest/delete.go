package ledgertest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
)

func ledgerDeleteCases() []Case {
	return []Case{
		{Name: "ledger/delete refuses, orphans or takes the subtree", Rule: "A checkpoint with children is ErrConflict unless told what becomes of them; counts are true.", Run: ledgerDeleteModes},
		{Name: "ledger/a child survives the delete of what it is built on", Rule: "Bodies that kept checkpoints are rebuilt from stay, and are counted as kept; the others are gone from the log.", Run: ledgerChildSurvives},
		{Name: "ledger/deleting a waiting head cancels its gates", Rule: "The gates of a deleted checkpoint are gone from the inbox and cannot be decided.", Run: ledgerDeletesWaitingHead},
		{Name: "ledger/delete a thread, a coordination", Rule: "All that carry the label go, others stay; unknown names count 0 or are ErrNotFound; the name can be used anew.", Run: ledgerDeletesThreads},
		{Name: "ledger/the cap evicts the oldest, never a head or a question", Rule: "With MaxCheckpoints the oldest go; branch heads and waiting checkpoints stay, also beyond the cap; each eviction is one event (A18).", Run: ledgerEvicts},
		{Name: "ledger/what was deleted does not count against the cap", Rule: "Deleting makes room: nothing is evicted for checkpoints that are gone.", Run: ledgerCountsDeleted},
		{Name: "ledger/a coordination is deleted from among others", Rule: "In a thread that several coordinations share only the labelled checkpoints go; what is saved meanwhile under another label stays.", Run: ledgerDeletesFromAmongOthers},
	}
}

func ledgerDeleteModes(t *T) {
	d := t.desk(ledger.Options{})
	root := d.root("t", "", "0")
	c := d.derive(root, "1")
	f, err := d.Fork(t.ctx, root.ID, nil)
	t.OK(err)
	_, err = retain.Delete(t.ctx, d.Ledger, root.ID, nil)
	d.wantErr(err, posthouse.ErrConflict)
	del, err := retain.Delete(t.ctx, d.Ledger, c.ID, nil)
	t.OK(err)
	if del.Checkpoints != 1 {
		t.Errorf("%+v", del)
	}
	_, err = d.Get(t.ctx, c.ID)
	d.wantErr(err, posthouse.ErrNotFound)
	info, err := d.Thread(t.ctx, "t")
	t.OK(err)
	if b, _ := info.Branch("main"); b.Head != root.ID {
		t.Errorf("main's head is %s, want the parent", b.Head)
	}
	_, err = retain.Delete(t.ctx, d.Ledger, root.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
	t.OK(err)
	if got := d.get(f.ID); got.Parent != root.ID || content(got) != "0" {
		t.Errorf("the orphan: %+v", got)
	}
	g := d.derive(d.get(f.ID), "2")
	del, err = retain.Delete(t.ctx, d.Ledger, f.ID, &retain.DeleteOptions{Mode: retain.DeleteSubtree})
	t.OK(err)
	if del.Checkpoints != 2 {
		t.Errorf("%+v", del)
	}
	_, err = d.Get(t.ctx, g.ID)
	d.wantErr(err, posthouse.ErrNotFound)
	d.wantStates(posthouse.Query{})
}

func ledgerChildSurvives(t *T) {
	d := t.desk(ledger.Options{})
	secret := strings.Repeat("secret ", 100)
	a := d.root("t", "", strings.Repeat("base ", 200))
	b := d.derive(a, content(a)+secret)
	c := d.derive(b, content(b)+"tail")
	e := d.derive(c, "small")
	del, err := retain.Delete(t.ctx, d.Ledger, b.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
	t.OK(err)
	if del.Kept != 1 || del.Bodies != 0 {
		t.Errorf("%+v", del)
	}
	if content(d.get(c.ID)) != content(b)+"tail" {
		t.Error("the child changed")
	}
	for _, id := range []posthouse.ID{c.ID, a.ID} {
		_, err = retain.Delete(t.ctx, d.Ledger, id, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
		t.OK(err)
	}
	if content(d.get(e.ID)) != "small" {
		t.Error("the head changed")
	}
	for entry, err := range t.Store.Read(t.ctx, "t", posthouse.Range{}) {
		t.OK(err)
		for _, body := range entry.Bodies {
			if entry.Seq > b.Seq && bytes.Contains(body, []byte("tail")) {
				t.Errorf("entry %d still holds the deleted text", entry.Seq)
			}
		}
	}
}

func ledgerDeletesWaitingHead(t *T) {
	d := t.desk(ledger.Options{})
	done := d.ask("t", posthouse.Gate{Name: "ok?"})
	del, err := retain.Delete(t.ctx, d.Ledger, done.Checkpoint.ID, nil)
	t.OK(err)
	if del.Gates != 1 {
		t.Errorf("%+v", del)
	}
	for g, err := range d.Gates(t.ctx, ledger.GateQuery{}) {
		t.Errorf("the inbox has %v, %v", g, err)
	}
	_, err = d.Decide(t.ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	d.wantErr(err, posthouse.ErrNotFound)
}

func ledgerDeletesThreads(t *T) {
	d := t.desk(ledger.Options{})
	for i := range 4 {
		d.derive(d.root(fmt.Sprint("t", i), []string{"gone", "stays"}[i%2], fmt.Sprint(i)), "x")
	}
	del, err := retain.DeleteCoordination(t.ctx, d.Ledger, "gone", nil)
	t.OK(err)
	if del.Checkpoints != 4 {
		t.Errorf("%+v", del)
	}
	d.wantStates(posthouse.Query{Coordination: "gone"})
	d.wantStates(posthouse.Query{Thread: "t1"}, "1", "x")
	if del, err = retain.DeleteCoordination(t.ctx, d.Ledger, "nobody", nil); err != nil || del.Checkpoints != 0 {
		t.Errorf("%+v, %v", del, err)
	}
	if del, err = retain.DeleteThread(t.ctx, d.Ledger, "t1", nil); err != nil || del.Checkpoints != 2 {
		t.Errorf("%+v, %v", del, err)
	}
	_, err = retain.DeleteThread(t.ctx, d.Ledger, "t1", nil)
	d.wantErr(err, posthouse.ErrNotFound)
	if c := d.root("t1", "", "anew"); c.Generation != 2 || c.Seq < 4 || !c.IsRoot() {
		t.Errorf("anew: %+v", c.Header)
	}
	again := t.desk(ledger.Options{})
	again.wantStates(posthouse.Query{Thread: "t1"}, "anew")
}

func ledgerEvicts(t *T) {
	evicted := 0
	d := t.desk(ledger.Options{MaxCheckpoints: 3, Observer: func(e posthouse.Operation) {
		if e.Kind == posthouse.OpEvicted {
			evicted++
		}
	}})
	d.root("dormant", "", "dormant")
	waiting := d.ask("waiting", posthouse.Gate{Name: "ok?"})
	c := d.root("busy", "", "0")
	for i := range 10 {
		c = d.derive(c, fmt.Sprint(i+1))
	}
	d.wantStates(posthouse.Query{}, "dormant", "waiting in waiting", "10")
	if evicted != 10 {
		t.Errorf("%d events for 10 evictions", evicted)
	}
	_, err := d.Decide(t.ctx, waiting.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	t.OK(err)
	if content(d.get(c.ID)) != "10" {
		t.Error("the head is damaged")
	}
	for i := range 5 {
		d.root(fmt.Sprint("h", i), "", "h")
	}
	if n := len(d.states(posthouse.Query{})); n != 8 {
		t.Errorf("%d heads, want all 8", n)
	}
}

func ledgerCountsDeleted(t *T) {
	d := t.desk(ledger.Options{MaxCheckpoints: 6})
	c := d.root("t", "", "0")
	for i := range 2 {
		c = d.derive(c, fmt.Sprint(i+1))
	}
	d.derive(d.root("u", "", "x"), "x")
	_, err := retain.DeleteThread(t.ctx, d.Ledger, "u", nil)
	t.OK(err)
	for i := range 3 {
		c = d.derive(c, fmt.Sprint(i+3))
	}
	d.wantStates(posthouse.Query{}, numbered("", 6)...)
	d.derive(c, "6")
	d.wantStates(posthouse.Query{}, numbered("", 7)[1:]...)
}

func ledgerDeletesFromAmongOthers(t *T) {
	d := t.desk(ledger.Options{})
	mine := d.root("t", "mine", "0")
	other := mine.Derive(state("1"))
	other.Coordination = "other"
	other = d.save(other)
	d.root("u", "mine", "2")
	del, err := retain.DeleteCoordination(t.ctx, d.Ledger, "mine", &retain.DeleteOptions{By: "alice", Reason: "asked to"})
	t.OK(err)
	if del.Checkpoints != 2 {
		t.Errorf("%+v", del)
	}
	d.wantStates(posthouse.Query{}, "1")
	if got := d.get(other.ID); content(got) != "1" {
		t.Errorf("the other is %q", content(got))
	}
	info, err := d.Thread(t.ctx, "t")
	t.OK(err)
	if b, _ := info.Branch(""); b.Head != other.ID || info.Checkpoints != 1 {
		t.Errorf("the thread is %+v", info)
	}
}
