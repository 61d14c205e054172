package upkeep

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

func deleteCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/delete refuses, orphans or takes the subtree", Rule: "A checkpoint with children is ErrConflict unless told what becomes of them; counts are true.", Run: deleteModes},
		{Name: "ledger/a child survives the delete of what it is built on", Rule: "Bodies that kept checkpoints are rebuilt from stay, and are counted as kept; the others are gone from the log.", Run: childSurvives},
		{Name: "ledger/deleting a waiting head cancels its gates", Rule: "The gates of a deleted checkpoint are gone from the inbox and cannot be decided.", Run: deletesWaitingHead},
		{Name: "ledger/delete a thread, a coordination", Rule: "All that carry the label go, others stay; unknown names count 0 or are ErrNotFound; the name can be used anew.", Run: deletesThreads},
		{Name: "ledger/slots go with their thread", Rule: "A deleted thread has no slots, others keep theirs. Compact ends a deletion that stopped between, and leaves a new thread of the name alone.", Run: deletesSlots},
		{Name: "ledger/the cap evicts the oldest, never a head or a question", Rule: "With MaxCheckpoints the oldest go; branch heads and waiting checkpoints stay, also beyond the cap; each eviction is one event (A18).", Run: evicts},
		{Name: "ledger/what was deleted does not count against the cap", Rule: "Deleting makes room: nothing is evicted for checkpoints that are gone.", Run: countsDeleted},
		{Name: "ledger/a coordination is deleted from among others", Rule: "In a thread that several coordinations share only the labelled checkpoints go; what is saved meanwhile under another label stays.", Run: deletesFromAmongOthers},
	}
}

func deleteModes(t *desk.T) {
	d := t.Desk(ledger.Options{})
	root := d.Root("t", "", "0")
	c := d.Derive(root, "1")
	f, err := d.Fork(t.Ctx, root.ID, nil)
	t.OK(err)
	_, err = retain.Delete(t.Ctx, d.Ledger, root.ID, nil)
	d.WantErr(err, posthouse.ErrConflict)
	del, err := retain.Delete(t.Ctx, d.Ledger, c.ID, nil)
	t.OK(err)
	if del.Checkpoints != 1 {
		t.Errorf("%+v", del)
	}
	_, err = d.Get(t.Ctx, c.ID)
	d.WantErr(err, posthouse.ErrNotFound)
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if b, _ := info.Branch("main"); b.Head != root.ID {
		t.Errorf("main's head is %s, want the parent", b.Head)
	}
	_, err = retain.Delete(t.Ctx, d.Ledger, root.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
	t.OK(err)
	if got := d.MustGet(f.ID); got.Parent != root.ID || desk.Content(got) != "0" {
		t.Errorf("the orphan: %+v", got)
	}
	g := d.Derive(d.MustGet(f.ID), "2")
	del, err = retain.Delete(t.Ctx, d.Ledger, f.ID, &retain.DeleteOptions{Mode: retain.DeleteSubtree})
	t.OK(err)
	if del.Checkpoints != 2 {
		t.Errorf("%+v", del)
	}
	_, err = d.Get(t.Ctx, g.ID)
	d.WantErr(err, posthouse.ErrNotFound)
	d.WantStates(posthouse.Query{})
}

func childSurvives(t *desk.T) {
	d := t.Desk(ledger.Options{})
	secret := strings.Repeat("secret ", 100)
	a := d.Root("t", "", strings.Repeat("base ", 200))
	b := d.Derive(a, desk.Content(a)+secret)
	c := d.Derive(b, desk.Content(b)+"tail")
	e := d.Derive(c, "small")
	del, err := retain.Delete(t.Ctx, d.Ledger, b.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
	t.OK(err)
	if del.Kept != 1 || del.Bodies != 0 {
		t.Errorf("%+v", del)
	}
	if desk.Content(d.MustGet(c.ID)) != desk.Content(b)+"tail" {
		t.Error("the child changed")
	}
	for _, id := range []posthouse.ID{c.ID, a.ID} {
		_, err = retain.Delete(t.Ctx, d.Ledger, id, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
		t.OK(err)
	}
	if desk.Content(d.MustGet(e.ID)) != "small" {
		t.Error("the head changed")
	}
	for entry, err := range t.Store.Read(t.Ctx, "t", posthouse.Range{}) {
		t.OK(err)
		for _, body := range entry.Bodies {
			if entry.Seq > b.Seq && bytes.Contains(body, []byte("tail")) {
				t.Errorf("entry %d still holds the deleted text", entry.Seq)
			}
		}
	}
}

func deletesWaitingHead(t *desk.T) {
	d := t.Desk(ledger.Options{})
	done := d.Ask("t", posthouse.Gate{Name: "ok?"})
	del, err := retain.Delete(t.Ctx, d.Ledger, done.Checkpoint.ID, nil)
	t.OK(err)
	if del.Gates != 1 {
		t.Errorf("%+v", del)
	}
	for g, err := range d.Gates(t.Ctx, ledger.GateQuery{}) {
		t.Errorf("the inbox has %v, %v", g, err)
	}
	_, err = d.Decide(t.Ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	d.WantErr(err, posthouse.ErrNotFound)
}

func deletesThreads(t *desk.T) {
	d := t.Desk(ledger.Options{})
	for i := range 4 {
		d.Derive(d.Root(fmt.Sprint("t", i), []string{"gone", "stays"}[i%2], fmt.Sprint(i)), "x")
	}
	del, err := retain.DeleteCoordination(t.Ctx, d.Ledger, "gone", nil)
	t.OK(err)
	if del.Checkpoints != 4 {
		t.Errorf("%+v", del)
	}
	d.WantStates(posthouse.Query{Coordination: "gone"})
	d.WantStates(posthouse.Query{Thread: "t1"}, "1", "x")
	del, err = retain.DeleteCoordination(t.Ctx, d.Ledger, "nobody", nil)
	if err != nil || del.Checkpoints != 0 {
		t.Errorf("%+v, %v", del, err)
	}
	del, err = retain.DeleteThread(t.Ctx, d.Ledger, "t1", nil)
	if err != nil || del.Checkpoints != 2 {
		t.Errorf("%+v, %v", del, err)
	}
	_, err = retain.DeleteThread(t.Ctx, d.Ledger, "t1", nil)
	d.WantErr(err, posthouse.ErrNotFound)
	if c := d.Root("t1", "", "anew"); c.Generation != 2 || c.Seq < 4 || !c.IsRoot() {
		t.Errorf("anew: %+v", c.Header)
	}
	again := t.Desk(ledger.Options{})
	again.WantStates(posthouse.Query{Thread: "t1"}, "anew")
}

func deletesSlots(t *desk.T) {
	d := t.Desk(ledger.Options{})
	put := func(thread string) {
		t.Helper()
		_, err := t.Store.Slot(t.Ctx, posthouse.SlotKey{Thread: thread, Step: "s"}, posthouse.SlotOp{
			Verb: posthouse.SlotPut, Value: []byte(desk.Secret), Revision: posthouse.AnyRevision,
		})
		t.OK(err)
	}
	want := func(when, thread string, there bool) {
		t.Helper()
		_, err := t.Store.Slot(t.Ctx, posthouse.SlotKey{Thread: thread, Step: "s"}, posthouse.SlotOp{})
		if !there && !errors.Is(err, posthouse.ErrNotFound) || there && err != nil {
			t.Errorf("%s: the slot of %s: %v", when, thread, err)
		}
	}
	_, lists := t.Store.(posthouse.SlotLister)
	for _, thread := range []string{"t", "t2"} {
		d.Root(thread, "", "0")
		put(thread)
	}
	_, err := retain.DeleteThread(t.Ctx, d.Ledger, "t", nil)
	t.OK(err)
	want("behind the deletion", "t", !lists)
	want("behind the deletion", "t2", true)
	compact := func() {
		t.Helper()
		if _, err := retain.Compact(t.Ctx, d.Ledger); !errors.Is(err, posthouse.ErrUnsupported) {
			t.OK(err)
		}
	}
	put("t") // as if the deletion had stopped
	compact()
	want("compacted", "t", !lists)
	want("compacted", "t2", true)
	d.Root("t", "", "anew")
	put("t")
	compact()
	want("anew", "t", true)
}

func evicts(t *desk.T) {
	evicted := 0
	d := t.Desk(ledger.Options{MaxCheckpoints: 3, Observer: func(e posthouse.Operation) {
		if e.Kind == posthouse.OpEvicted {
			evicted++
		}
	}})
	d.Root("dormant", "", "dormant")
	waiting := d.Ask("waiting", posthouse.Gate{Name: "ok?"})
	c := d.Root("busy", "", "0")
	for i := range 10 {
		c = d.Derive(c, fmt.Sprint(i+1))
	}
	d.WantStates(posthouse.Query{}, "dormant", "waiting in waiting", "10")
	if evicted != 10 {
		t.Errorf("%d events for 10 evictions", evicted)
	}
	_, err := d.Decide(t.Ctx, waiting.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	t.OK(err)
	if desk.Content(d.MustGet(c.ID)) != "10" {
		t.Error("the head is damaged")
	}
	for i := range 5 {
		d.Root(fmt.Sprint("h", i), "", "h")
	}
	if n := len(d.States(posthouse.Query{})); n != 8 {
		t.Errorf("%d heads, want all 8", n)
	}
}

func countsDeleted(t *desk.T) {
	d := t.Desk(ledger.Options{MaxCheckpoints: 6})
	c := d.Root("t", "", "0")
	for i := range 2 {
		c = d.Derive(c, fmt.Sprint(i+1))
	}
	d.Derive(d.Root("u", "", "x"), "x")
	_, err := retain.DeleteThread(t.Ctx, d.Ledger, "u", nil)
	t.OK(err)
	for i := range 3 {
		c = d.Derive(c, fmt.Sprint(i+3))
	}
	d.WantStates(posthouse.Query{}, desk.Numbered("", 6)...)
	d.Derive(c, "6")
	d.WantStates(posthouse.Query{}, desk.Numbered("", 7)[1:]...)
}

func deletesFromAmongOthers(t *desk.T) {
	d := t.Desk(ledger.Options{})
	mine := d.Root("t", "mine", "0")
	other := mine.Derive(desk.State("1"))
	other.Coordination = "other"
	other = d.MustSave(other)
	d.Root("u", "mine", "2")
	del, err := retain.DeleteCoordination(t.Ctx, d.Ledger, "mine", &retain.DeleteOptions{By: "alice", Reason: "asked to"})
	t.OK(err)
	if del.Checkpoints != 2 {
		t.Errorf("%+v", del)
	}
	d.WantStates(posthouse.Query{}, "1")
	if got := d.MustGet(other.ID); desk.Content(got) != "1" {
		t.Errorf("the other is %q", desk.Content(got))
	}
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if b, _ := info.Branch(""); b.Head != other.ID || info.Checkpoints != 1 {
		t.Errorf("the thread is %+v", info)
	}
}
