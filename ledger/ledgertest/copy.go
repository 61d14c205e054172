package ledgertest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/transfer"
)

// ledgerCopyCases are about copies of whole threads.
func ledgerCopyCases() []Case {
	return []Case{
		{Name: "ledger/a copy has the whole history", Rule: "Every kept checkpoint is there under a new id that names its original, with its state, branch, parent, labels, metadata, step and time; the original stays as it is.", Run: ledgerCopiesThread},
		{Name: "ledger/a copy asks again", Rule: "Questions that a branch ends at are open in the copy under new ids, also if they were decided since; answers that the history went on from are on record there.", Run: ledgerCopyGates},
		{Name: "ledger/a copy runs nothing twice", Rule: "What an unfinished execution has on record is on record for the copy's; what could run is interrupted.", Run: ledgerCopyExecutions},
		{Name: "ledger/what cannot be copied", Rule: "An unknown thread is ErrNotFound, a taken name ErrExists, a name that is being run ErrBusy; nothing is left of a copy that failed.", Run: ledgerCopyRefused},
		{Name: "ledger/copying versions", Rule: "A released version can be copied, also to a name that was released; the current generation is copied alone.", Run: ledgerCopyVersion},
		{Name: "ledger/a copy skips what was deleted", Rule: "Children of deleted checkpoints derive from the nearest that is kept; a replaced checkpoint is copied as it is now, in its place.", Run: ledgerCopyDeleted},
	}
}

// wantCopy compares a copy with its original, checkpoint by checkpoint.
func (d *desk) wantCopy(from, to posthouse.Query) {
	d.Helper()
	read := func(q posthouse.Query) (cs []*posthouse.Checkpoint) {
		d.Helper()
		for c, err := range d.ListStates(d.ctx, q) {
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
		if content(a) != content(b) || !maps.Equal(a.Metadata, b.Metadata) {
			d.Errorf("copy %d has state %q and metadata %v, want %q and %v", i, content(b), b.Metadata, content(a), a.Metadata)
		}
	}
}

func (d *desk) copy(from, to string, o *transfer.CopyOptions) *posthouse.ThreadInfo {
	d.Helper()
	info, err := transfer.CopyThread(d.ctx, d.Ledger, from, to, o)
	d.OK(err)
	return info
}

func ledgerCopiesThread(t *T) {
	var told []string
	d := t.desk(ledger.Options{Observer: func(e posthouse.Operation) {
		if e.Kind == posthouse.OpCopied {
			told = append(told, fmt.Sprint(e.Source.Thread, " to ", e.Thread, ": ", e.Count))
		}
	}})
	c := posthouse.Root("t", state("0"))
	c.Labels, c.Metadata, c.Agent, c.ID = map[string]string{"k": "v"}, map[string]string{"m": "1"}, "a", "my-own"
	c = d.save(c)
	for i := range 40 {
		d.clock.Advance(1e9)
		next := c.Derive(state(fmt.Sprint(content(c), " and ", i)))
		if i == 20 {
			next.Metadata = nil
		}
		if c = d.save(next); i%15 == 3 {
			f, err := d.Fork(t.ctx, c.ID, nil)
			t.OK(err)
			d.derive(f, fmt.Sprint("side ", i))
		}
	}
	before := d.states(posthouse.Query{Thread: "t"})
	was, err := d.Thread(t.ctx, "t")
	t.OK(err)
	info := d.copy("t", "u", nil)
	d.wantCopy(posthouse.Query{Thread: "t"}, posthouse.Query{Thread: "u"})
	if len(info.Branches) != len(was.Branches) || info.Checkpoints != was.Checkpoints || info.Lease.Held {
		t.Errorf("the copy is %+v, want as %+v", info, was)
	}
	for i, b := range info.Branches {
		if b.Branch != was.Branches[i].Branch || content(d.get(b.Head)) != content(d.get(was.Branches[i].Head)) {
			t.Errorf("branch %d is %+v, want as %+v", i, b, was.Branches[i])
		}
	}
	d.wantStates(posthouse.Query{Thread: "t"}, before...)
	head, _ := info.Branch("")
	d.derive(d.get(head.Head), "goes on")
	if !slices.Equal(told, []string{"t to u: 47"}) {
		t.Errorf("told of %q", told)
	}
	again := d.copy("u", "w", nil) // a copy of a copy
	if again.Checkpoints != info.Checkpoints+1 {
		t.Errorf("the second copy is %+v", again)
	}
}

func ledgerCopyGates(t *T) {
	d := t.desk(ledger.Options{})
	d.root("t", "", "0")
	first := d.wait("t", "1/n", nil)
	yes := posthouse.Decision{Verdict: posthouse.Edit, Value: []byte(`{"n":1}`), By: "alice", Reason: "fine", Shown: first.Hash}
	_, err := d.Decide(t.ctx, first.Gates[0].ID, yes)
	t.OK(err)
	d.step("t", "1/n", "a")
	second := d.wait("t", "1/n", nil)
	_, err = d.Decide(t.ctx, second.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
	t.OK(err)
	d.step("t", "1/n", "after")

	info := d.copy("t", "u", nil)
	if len(info.Waiting) != 1 || info.Waiting[0].ID == second.Gates[0].ID || info.Status != posthouse.StatusWaiting {
		t.Fatalf("the copy is %+v", info)
	}
	head, _ := info.Branch("")
	h, err := d.GetHeader(t.ctx, head.Head)
	t.OK(err)
	x, err := t.desk(ledger.Options{}).Core().Execution(t.ctx, h, "1/n")
	t.OK(err)
	if len(x.Steps) != 1 || len(x.Gates) != 2 || x.Gates[1].Decision != nil {
		t.Fatalf("%d steps and gates %+v on record", len(x.Steps), x.Gates)
	}
	if got := x.Gates[0].Decision; got == nil || got.Verdict != yes.Verdict || string(got.Value) != string(yes.Value) || got.By != "alice" || got.Reason != "fine" {
		t.Errorf("the first answer is %+v", got)
	}
	_, err = d.Decide(t.ctx, info.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Reject, By: "carol"})
	t.OK(err)
	if g, err := d.Gate(t.ctx, second.Gates[0].ID); err != nil || g.Decision.Verdict != posthouse.Approve {
		t.Errorf("the original's question is %+v, error %v", g, err)
	}
	// A wait that the copy's history went on from asks again when it is forked.
	asked, err := d.Gate(t.ctx, x.Gates[0].ID)
	t.OK(err)
	f, err := d.Fork(t.ctx, asked.Checkpoint, nil)
	t.OK(err)
	if len(f.Gates) != 1 || f.Status != posthouse.StatusWaiting {
		t.Errorf("the fork is %+v", f.Header)
	}
}

func ledgerCopyExecutions(t *T) {
	d := t.desk(ledger.Options{})
	d.root("t", "", "0")
	_, err := d.Commit(t.ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Next: []string{"n"}, State: state("1"),
	}})
	t.OK(err)
	d.step("t", "2/n", "a")
	d.step("t", "2/n", "b")
	info := d.copy("t", "u", nil)
	head, _ := info.Branch("")
	if info.Runnable() || head.Status != posthouse.StatusInterrupted {
		t.Errorf("the copy is %+v", info)
	}
	h, err := d.GetHeader(t.ctx, head.Head)
	t.OK(err)
	x, err := t.desk(ledger.Options{}).Core().Execution(t.ctx, h, "2/n")
	t.OK(err)
	if len(x.Steps) != 2 || x.Steps[0].Name != "a" || string(x.Steps[1].Value.Data) != "result of b" {
		t.Errorf("on record is %+v", x.Steps)
	}
	if was, err := d.Thread(t.ctx, "t"); err != nil || !was.Runnable() {
		t.Errorf("the original is %+v, error %v", was, err)
	}
}

func ledgerCopyRefused(t *T) {
	d := t.desk(ledger.Options{})
	d.root("t", "", "0")
	d.root("taken", "", "0")
	_, err := transfer.CopyThread(t.ctx, d.Ledger, "nobody", "u", nil)
	d.wantErr(err, posthouse.ErrNotFound)
	for _, to := range []string{"t", "taken"} {
		_, err = transfer.CopyThread(t.ctx, d.Ledger, "t", to, nil)
		d.wantErr(err, posthouse.ErrExists)
	}
	_, err = transfer.CopyThread(t.ctx, d.Ledger, "t", "a\nname", nil)
	d.wantErr(err, posthouse.ErrInvalid)
	_, err = transfer.CopyThread(t.ctx, d.Ledger, "t", "u", &transfer.CopyOptions{Version: 7})
	d.wantErr(err, posthouse.ErrNotFound)
	c, err := d.Claim(t.ctx, "u", "run")
	t.OK(err)
	_, err = transfer.CopyThread(t.ctx, d.Ledger, "t", "u", nil)
	d.wantErr(err, posthouse.ErrBusy)
	t.OK(c.Release(t.ctx))
	d.release("t", nil)
	_, err = transfer.CopyThread(t.ctx, d.Ledger, "t", "u", nil)
	d.wantErr(err, posthouse.ErrNotFound)

	d.derive(d.root("big", "", "0"), "more than it may be")
	small := t.desk(ledger.Options{MaxState: 8})
	_, err = transfer.CopyThread(t.ctx, small.Ledger, "big", "u", nil)
	d.wantErr(err, posthouse.ErrTooLarge)
	_, err = d.Thread(t.ctx, "u")
	d.wantErr(err, posthouse.ErrNotFound)
	d.copy("big", "u", nil)
}

func ledgerCopyVersion(t *T) {
	d := t.desk(ledger.Options{})
	d.derive(d.root("t", "", "0"), "1")
	side, err := d.Fork(t.ctx, d.ask("t", posthouse.Gate{Name: "ok?"}).Checkpoint.ID, nil)
	t.OK(err)
	d.release("t", nil)
	d.root("t", "", "now")
	d.root("u", "", "x")
	d.release("u", nil)
	info := d.copy("t", "u", &transfer.CopyOptions{Version: 1})
	d.wantCopy(posthouse.Query{Thread: "t", Generation: 1}, posthouse.Query{Thread: "u"})
	if _, ok := info.Branch(side.Branch); !ok || len(info.Waiting) != 2 || info.Generation != 2 {
		t.Errorf("the copy is %+v", info)
	}
	d.copy("t", "now", nil)
	d.wantStates(posthouse.Query{Thread: "now"}, "now")
	d.wantVersions("now")
}

func ledgerCopyDeleted(t *T) {
	d := t.desk(ledger.Options{})
	a := d.root("t", "", "a")
	b := d.derive(a, "b")
	c := d.derive(b, "c")
	old := a.Derive(state("old"))
	old.Branch, old.ID = "side", "x"
	old = d.save(old)
	old.State = state("new")
	_, err := d.Save(t.ctx, old, &ledger.SaveOptions{Replace: true})
	t.OK(err)
	_, err = retain.Delete(t.ctx, d.Ledger, b.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
	t.OK(err)
	d.copy("t", "u", nil)
	d.wantStates(posthouse.Query{Thread: "u"}, "a", "c", "new")
	var parents []posthouse.ID
	var ids []posthouse.ID
	for h, err := range d.List(t.ctx, posthouse.Query{Thread: "u"}) {
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
