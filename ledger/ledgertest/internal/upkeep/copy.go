package upkeep

import (
	"fmt"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/transfer"
)

// copyCases are about copies of whole threads.
func copyCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/a copy has the whole history", Rule: "Every kept checkpoint is there under a new id that names its original, with its state, branch, parent, labels, metadata, step and time; the original stays as it is.", Run: copiesThread},
		{Name: "ledger/a copy asks again", Rule: "Questions that a branch ends at are open in the copy under new ids, also if they were decided since; answers that the history went on from are on record there.", Run: copyGates},
		{Name: "ledger/a copy runs nothing twice", Rule: "What an unfinished execution has on record is on record for the copy's; what could run is interrupted.", Run: copyExecutions},
		{Name: "ledger/what cannot be copied", Rule: "An unknown thread is ErrNotFound, a taken name ErrExists, a name that is being run ErrBusy; nothing is left of a copy that failed.", Run: copyRefused},
		{Name: "ledger/copying versions", Rule: "A released version can be copied, also to a name that was released; the current generation is copied alone.", Run: copyVersion},
		{Name: "ledger/a copy skips what was deleted", Rule: "Children of deleted checkpoints derive from the nearest that is kept; a replaced checkpoint is copied as it is now, in its place.", Run: copyDeleted},
	}
}

// wantCopy compares a copy with its original, checkpoint by checkpoint.
func wantCopy(d *desk.Desk, from, to posthouse.Query) {
	d.Helper()
	read := func(q posthouse.Query) (cs []*posthouse.Checkpoint) {
		d.Helper()
		for c, err := range d.ListStates(d.Ctx, q) {
			d.OK(err)
			cs = append(cs, c)
		}
		return cs
	}
	was, now := read(from), read(to)
	if len(was) != len(now) || len(was) == 0 {
		d.Fatalf("%d checkpoints were copied, want %d", len(now), len(was))
	}
	copies := map[posthouse.ID]posthouse.ID{}
	for i, a := range was {
		b := now[i]
		copies[a.ID] = b.ID
		want := a.Clone()
		want.ID, want.Thread, want.Parent = b.ID, to.Thread, copies[a.Parent]
		want.Source = &posthouse.Source{Thread: from.Thread, ID: a.ID}
		if want.Coordination == from.Thread {
			want.Coordination = to.Thread
		}
		if want.Status.Runnable() {
			want.Status = posthouse.StatusInterrupted
		}
		want.Generation, want.Seq, want.ParentSeq, want.Hash, want.Order, want.Revision, want.Gates = b.Generation, b.Seq, b.ParentSeq, b.Hash, b.Order, 0, b.Gates
		if diff := storetest.DiffHeader(&b.Header, &want.Header); diff != "" || b.ID == a.ID || len(a.Gates) != len(b.Gates) {
			d.Errorf("copy %d: %s", i, diff)
		}
		if desk.Content(a) != desk.Content(b) || !maps.Equal(a.Metadata, b.Metadata) {
			d.Errorf("copy %d has state %q and metadata %v, want %q and %v", i, desk.Content(b), b.Metadata, desk.Content(a), a.Metadata)
		}
	}
}

func copyThread(d *desk.Desk, from, to string, o *transfer.CopyOptions) *posthouse.ThreadInfo {
	d.Helper()
	info, err := transfer.CopyThread(d.Ctx, d.Ledger, from, to, o)
	d.OK(err)
	return info
}

func copiesThread(t *desk.T) {
	var told []string
	d := t.Desk(ledger.Options{Observer: func(e posthouse.Operation) {
		if e.Kind == posthouse.OpCopied {
			told = append(told, fmt.Sprint(e.Source.Thread, " to ", e.Thread, ": ", e.Count))
		}
	}})
	c := posthouse.Root("t", desk.State("0"))
	c.Labels, c.Metadata, c.Agent, c.ID = map[string]string{"k": "v"}, map[string]string{"m": "1"}, "a", "my-own"
	c = d.MustSave(c)
	for i := range 40 {
		d.Clock.Advance(1e9)
		next := c.Derive(desk.State(fmt.Sprint(desk.Content(c), " and ", i)))
		if i == 20 {
			next.Metadata = nil
		}
		c = d.MustSave(next)
		if i%15 == 3 {
			f, err := d.Fork(t.Ctx, c.ID, nil)
			t.OK(err)
			d.Derive(f, fmt.Sprint("side ", i))
		}
	}
	before := d.States(posthouse.Query{Thread: "t"})
	was, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	info := copyThread(d, "t", "u", nil)
	wantCopy(d, posthouse.Query{Thread: "t"}, posthouse.Query{Thread: "u"})
	if len(info.Branches) != len(was.Branches) || info.Checkpoints != was.Checkpoints || info.Lease.Held {
		t.Errorf("the copy is %+v, want as %+v", info, was)
	}
	for i, b := range info.Branches {
		if b.Branch != was.Branches[i].Branch || desk.Content(d.MustGet(b.Head)) != desk.Content(d.MustGet(was.Branches[i].Head)) {
			t.Errorf("branch %d is %+v, want as %+v", i, b, was.Branches[i])
		}
	}
	d.WantStates(posthouse.Query{Thread: "t"}, before...)
	head, _ := info.Branch("")
	d.Derive(d.MustGet(head.Head), "goes on")
	if !slices.Equal(told, []string{"t to u: 47"}) {
		t.Errorf("told of %q", told)
	}
	again := copyThread(d, "u", "w", nil) // a copy of a copy
	if again.Checkpoints != info.Checkpoints+1 {
		t.Errorf("the second copy is %+v", again)
	}
}

func copyGates(t *desk.T) {
	d := t.Desk(ledger.Options{})
	d.Root("t", "", "0")
	first := d.Wait("t", "1/n", nil)
	yes := posthouse.Decision{Verdict: posthouse.Edit, Value: []byte(`{"n":1}`), By: "alice", Reason: "fine", Shown: first.Hash}
	_, err := d.Decide(t.Ctx, first.Gates[0].ID, yes)
	t.OK(err)
	d.Step("t", "1/n", "a")
	second := d.Wait("t", "1/n", nil)
	_, err = d.Decide(t.Ctx, second.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
	t.OK(err)
	d.Step("t", "1/n", "after")

	info := copyThread(d, "t", "u", nil)
	if len(info.Waiting) != 1 || info.Waiting[0].ID == second.Gates[0].ID || info.Status != posthouse.StatusWaiting {
		t.Fatalf("the copy is %+v", info)
	}
	head, _ := info.Branch("")
	h, err := d.GetHeader(t.Ctx, head.Head)
	t.OK(err)
	x, err := desk.ExecutionOf(t.Ctx, t.Desk(ledger.Options{}).Ledger, h, "1/n")
	t.OK(err)
	if len(x.Steps) != 1 || len(x.Gates) != 2 || x.Gates[1].Decision != nil {
		t.Fatalf("%d steps and gates %+v on record", len(x.Steps), x.Gates)
	}
	if got := x.Gates[0].Decision; got == nil || got.Verdict != yes.Verdict || string(got.Value) != string(yes.Value) || got.By != "alice" || got.Reason != "fine" {
		t.Errorf("the first answer is %+v", got)
	}
	_, err = d.Decide(t.Ctx, info.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Reject, By: "carol"})
	t.OK(err)
	if g, err := d.Gate(t.Ctx, second.Gates[0].ID); err != nil || g.Decision.Verdict != posthouse.Approve {
		t.Errorf("the original's question is %+v, error %v", g, err)
	}
	// A wait that the copy's history went on from asks again when it is forked.
	asked, err := d.Gate(t.Ctx, x.Gates[0].ID)
	t.OK(err)
	f, err := d.Fork(t.Ctx, asked.Checkpoint, nil)
	t.OK(err)
	if len(f.Gates) != 1 || f.Status != posthouse.StatusWaiting {
		t.Errorf("the fork is %+v", f.Header)
	}
}

func copyExecutions(t *desk.T) {
	d := t.Desk(ledger.Options{})
	d.Root("t", "", "0")
	_, err := d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Next: []string{"n"}, State: desk.State("1"),
	}})
	t.OK(err)
	d.Step("t", "2/n", "a")
	d.Step("t", "2/n", "b")
	info := copyThread(d, "t", "u", nil)
	head, _ := info.Branch("")
	if info.Runnable() || head.Status != posthouse.StatusInterrupted {
		t.Errorf("the copy is %+v", info)
	}
	h, err := d.GetHeader(t.Ctx, head.Head)
	t.OK(err)
	x, err := desk.ExecutionOf(t.Ctx, t.Desk(ledger.Options{}).Ledger, h, "2/n")
	t.OK(err)
	if len(x.Steps) != 2 || x.Steps[0].Name != "a" || string(x.Steps[1].Value.Data) != "result of b" {
		t.Errorf("on record is %+v", x.Steps)
	}
	if was, err := d.Thread(t.Ctx, "t"); err != nil || !was.Runnable() {
		t.Errorf("the original is %+v, error %v", was, err)
	}
}

func copyRefused(t *desk.T) {
	d := t.Desk(ledger.Options{})
	d.Root("t", "", "0")
	d.Root("taken", "", "0")
	_, err := transfer.CopyThread(t.Ctx, d.Ledger, "nobody", "u", nil)
	d.WantErr(err, posthouse.ErrNotFound)
	for _, to := range []string{"t", "taken"} {
		_, err = transfer.CopyThread(t.Ctx, d.Ledger, "t", to, nil)
		d.WantErr(err, posthouse.ErrExists)
	}
	_, err = transfer.CopyThread(t.Ctx, d.Ledger, "t", "a\nname", nil)
	d.WantErr(err, posthouse.ErrInvalid)
	_, err = transfer.CopyThread(t.Ctx, d.Ledger, "t", "u", &transfer.CopyOptions{Version: 7})
	d.WantErr(err, posthouse.ErrNotFound)
	c, err := d.Claim(t.Ctx, "u", "run")
	t.OK(err)
	_, err = transfer.CopyThread(t.Ctx, d.Ledger, "t", "u", nil)
	d.WantErr(err, posthouse.ErrBusy)
	t.OK(c.Release(t.Ctx))
	d.MustRelease("t", nil)
	_, err = transfer.CopyThread(t.Ctx, d.Ledger, "t", "u", nil)
	d.WantErr(err, posthouse.ErrNotFound)

	d.Derive(d.Root("big", "", "0"), "more than it may be")
	small := t.Desk(ledger.Options{MaxState: 8})
	_, err = transfer.CopyThread(t.Ctx, small.Ledger, "big", "u", nil)
	d.WantErr(err, posthouse.ErrTooLarge)
	_, err = d.Thread(t.Ctx, "u")
	d.WantErr(err, posthouse.ErrNotFound)
	copyThread(d, "big", "u", nil)
}

func copyVersion(t *desk.T) {
	d := t.Desk(ledger.Options{})
	d.Derive(d.Root("t", "", "0"), "1")
	side, err := d.Fork(t.Ctx, d.Ask("t", posthouse.Gate{Name: "ok?"}).Checkpoint.ID, nil)
	t.OK(err)
	d.MustRelease("t", nil)
	d.Root("t", "", "now")
	d.Root("u", "", "x")
	d.MustRelease("u", nil)
	info := copyThread(d, "t", "u", &transfer.CopyOptions{Version: 1})
	wantCopy(d, posthouse.Query{Thread: "t", Generation: 1}, posthouse.Query{Thread: "u"})
	if _, ok := info.Branch(side.Branch); !ok || len(info.Waiting) != 2 || info.Generation != 2 {
		t.Errorf("the copy is %+v", info)
	}
	copyThread(d, "t", "now", nil)
	d.WantStates(posthouse.Query{Thread: "now"}, "now")
	wantVersions(d, "now")
}

func copyDeleted(t *desk.T) {
	d := t.Desk(ledger.Options{})
	a := d.Root("t", "", "a")
	b := d.Derive(a, "b")
	c := d.Derive(b, "c")
	old := a.Derive(desk.State("old"))
	old.Branch, old.ID = "side", "x"
	old = d.MustSave(old)
	old.State = desk.State("new")
	_, err := d.Save(t.Ctx, old, &ledger.SaveOptions{Replace: true})
	t.OK(err)
	_, err = retain.Delete(t.Ctx, d.Ledger, b.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
	t.OK(err)
	copyThread(d, "t", "u", nil)
	d.WantStates(posthouse.Query{Thread: "u"}, "a", "c", "new")
	var parents []posthouse.ID
	var ids []posthouse.ID
	for h, err := range d.List(t.Ctx, posthouse.Query{Thread: "u"}) {
		t.OK(err)
		ids, parents = append(ids, h.ID), append(parents, h.Parent)
		if h.Source.ID == c.ID && h.Step != c.Step {
			t.Errorf("the copy of c is step %d, want %d", h.Step, c.Step)
		}
	}
	if !slices.Equal(parents, []posthouse.ID{"", ids[0], ids[0]}) {
		t.Errorf("parents %v of %v", parents, ids)
	}
}
