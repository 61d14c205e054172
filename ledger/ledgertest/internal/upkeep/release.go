package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

// releaseCases are about versions: LangGraph4j's release and tag.
func releaseCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/a release frees the name and keeps the version", Rule: "After a release there is no head, no thread and nothing to list; the old checkpoints load by id; the name begins anew; the versions are listed newest first (L5, L8, testMemoryWithVersionsSaver).", Run: releases},
		{Name: "ledger/versions by number and by tag", Rule: "A version is found by its number, a tag leads to the newest that has it; bad tags are ErrInvalid.", Run: releaseTags},
		{Name: "ledger/a release cancels what waits", Rule: "Open gates of every branch are cancelled with the release, on record; the inbox is empty and the question is decided.", Run: releaseGates},
		{Name: "ledger/who may release", Rule: "Releasing is refused while somebody runs the thread, goes with the run's own claim, which ends with it, and is ErrNotFound where there is nothing.", Run: releaseLease},
		{Name: "ledger/a commit that releases", Rule: "A draft's checkpoint and the release are one entry: the version's head is that checkpoint, its answer the release (L22).", Run: releaseCommit},
		{Name: "ledger/a released checkpoint is not gone on from", Rule: "A child of it is ErrConflict, a new revision ErrExists; a fork takes it up in the thread as it is now, as a root with what its execution had on record.", Run: releasedFork},
		{Name: "ledger/lists of a version", Rule: "A thread's list shows the current generation, with Generation that one, in both directions and by pages; lists across threads show all.", Run: releaseLists},
		{Name: "ledger/a new generation knows nothing of the old", Rule: "Results recorded before a release are not on record for an execution after it.", Run: releaseExecutions},
		{Name: "ledger/dropping a version", Rule: "All of it goes but its release; other versions, the current generation and forks stay whole; dropping again takes nothing.", Run: dropsRelease},
		{Name: "ledger/deleting from versions", Rule: "A checkpoint of a released version is not deleted, in any mode: the refusal is ErrConflict and says how to drop the version. Deleting a coordination leaves versions alone where the thread stays, and says so; deleting the thread, or all that it has, takes them along.", Run: deletesReleased},
		{Name: "ledger/the cap keeps where versions ended", Rule: "Eviction takes a released version's earlier checkpoints, never the last of a branch.", Run: evictsReleased},
	}
}

// versionsOf lists a thread's versions as "number: checkpoints".
func versionsOf(d *desk.Desk, thread string) (out []string) {
	d.Helper()
	for r, err := range d.Releases(d.Ctx, thread) {
		d.OK(err)
		out = append(out, fmt.Sprint(r.Version, ": ", r.Checkpoints))
	}
	return out
}

func wantVersions(d *desk.Desk, thread string, want ...string) {
	d.Helper()
	if got := versionsOf(d, thread); !slices.Equal(got, want) {
		d.Errorf("versions of %s are %q, want %q", thread, got, want)
	}
}

func releases(t *desk.T) {
	var told []string
	d := t.Desk(ledger.Options{Observer: func(e posthouse.Operation) {
		if e.Kind == posthouse.OpReleased {
			told = append(told, fmt.Sprint(e.Thread, " ", e.Release.Version))
		}
	}})
	first := d.Root("t", "", "0")
	last := d.Derive(first, "1")
	r := d.MustRelease("t", &ledger.ReleaseOptions{By: "alice", Reason: "shipped", Failed: true})
	if b, ok := r.Head(""); !ok || b.Head != last.ID || r.Version != 1 || r.Checkpoints != 2 || r.By != "alice" || !r.Failed {
		t.Errorf("the release is %+v", r)
	}
	_, err := d.Latest(t.Ctx, ledger.LatestQuery{Thread: "t"})
	d.WantErr(err, posthouse.ErrNotFound)
	_, err = d.Latest(t.Ctx, ledger.LatestQuery{Thread: "t", Node: "n"})
	d.WantErr(err, posthouse.ErrNotFound)
	_, err = d.Thread(t.Ctx, "t")
	d.WantErr(err, posthouse.ErrNotFound)
	d.WantStates(posthouse.Query{Thread: "t"})
	for info, err := range d.Threads(t.Ctx, posthouse.ThreadQuery{}) {
		t.Errorf("there is %v, %v", info, err)
	}
	d.WantStates(posthouse.Query{Thread: "t", Generation: 1}, "0", "1")

	if c := d.Root("t", "", "2"); c.Generation != 2 || !c.IsRoot() || c.Seq != r.Seq+1 {
		t.Errorf("anew: %+v", c.Header)
	}
	d = t.Desk(ledger.Options{}) // what another process sees
	if got := d.MustGet(last.ID); desk.Content(got) != "1" || got.Parent != first.ID || got.Generation != 1 {
		t.Errorf("the released checkpoint is %+v", got)
	}
	d.WantStates(posthouse.Query{Thread: "t"}, "2")
	again := d.MustRelease("t", nil)
	wantVersions(d, "t", "2: 1", "1: 2")
	newest, err := ledger.LastRelease(t.Ctx, d.Ledger, "t")
	t.OK(err)
	if newest.Hash != again.Hash || newest.Seq != again.Seq || newest.Version != 2 || newest.First != r.Seq+1 {
		t.Errorf("the last release is %+v, want %+v", newest, again)
	}
	if !slices.Equal(told, []string{"t 1"}) {
		t.Errorf("told of %q", told)
	}
	n := 0
	for info, err := range d.Threads(t.Ctx, posthouse.ThreadQuery{Released: true}) {
		t.OK(err)
		n++
		if info.Releases != 2 || info.Archived != 3 || info.Checkpoints != 0 {
			t.Errorf("the summary is %+v", info)
		}
	}
	if n != 1 {
		t.Errorf("%d released threads", n)
	}
}

func releaseTags(t *desk.T) {
	d := t.Desk(ledger.Options{})
	for _, tags := range [][]string{{"stable", "may"}, {"stable"}, nil} {
		d.Root("t", "", "x")
		d.MustRelease("t", &ledger.ReleaseOptions{Tags: tags})
	}
	for key, want := range map[string]uint32{"1": 1, "3": 3, "stable": 2, "may": 1} {
		r, err := ledger.FindRelease(t.Ctx, d.Ledger, "t", key)
		t.OK(err)
		if r.Version != want {
			t.Errorf("%q leads to version %d, want %d", key, r.Version, want)
		}
	}
	for _, key := range []string{"4", "0", "", "nightly"} {
		_, err := ledger.FindRelease(t.Ctx, d.Ledger, "t", key)
		d.WantErr(err, posthouse.ErrNotFound)
	}
	_, err := ledger.LastRelease(t.Ctx, d.Ledger, "nobody")
	d.WantErr(err, posthouse.ErrNotFound)
	d.Root("t", "", "x")
	for _, tags := range [][]string{{""}, {"12"}, {"a", "a"}, {"a\n"}, slices.Repeat([]string{"a"}, 17)} {
		_, err := d.Release(t.Ctx, "t", &ledger.ReleaseOptions{Tags: tags})
		d.WantErr(err, posthouse.ErrInvalid)
	}
	_, err = d.Release(t.Ctx, "t", &ledger.ReleaseOptions{Reason: "a\x00"})
	d.WantErr(err, posthouse.ErrInvalid)
}

func releaseGates(t *desk.T) {
	d := t.Desk(ledger.Options{})
	done := d.Ask("t", posthouse.Gate{Name: "ok?"}, posthouse.Gate{Name: "sure?"})
	side, err := d.Fork(t.Ctx, done.Checkpoint.ID, nil)
	t.OK(err)
	d.MustRelease("t", nil)
	for g, err := range d.Gates(t.Ctx, ledger.GateQuery{}) {
		t.Errorf("the inbox has %v, %v", g, err)
	}
	for _, id := range slices.Concat(done.Checkpoint.Gates, side.Gates) {
		_, err := d.Decide(t.Ctx, id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
		if e := d.WantErr(err, posthouse.ErrDecided); e.Decision.Verdict != posthouse.Cancel {
			t.Errorf("gate %s was decided: %+v", id, e.Decision)
		}
	}
}

func releaseLease(t *desk.T) {
	d := t.Desk(ledger.Options{})
	_, err := d.Release(t.Ctx, "t", nil)
	d.WantErr(err, posthouse.ErrNotFound)
	c, err := d.Claim(t.Ctx, "t", "run")
	t.OK(err)
	_, err = d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Claim: c, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}})
	t.OK(err)
	_, err = d.Release(t.Ctx, "t", nil)
	d.WantErr(err, posthouse.ErrBusy)
	r := d.MustRelease("t", &ledger.ReleaseOptions{Claim: c})
	_, err = d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Claim: c, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}})
	d.WantErr(err, posthouse.ErrFenced)
	t.OK(c.Release(t.Ctx))
	_, err = d.Release(t.Ctx, "t", nil)
	d.WantErr(err, posthouse.ErrNotFound)
	next, err := d.Claim(t.Ctx, "t", "run")
	t.OK(err)
	_, err = d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Claim: next, Checkpoint: &posthouse.Change{Status: posthouse.StatusDone}})
	t.OK(err)
	t.OK(next.Release(t.Ctx))
	if again := d.MustRelease("t", nil); again.Fence <= r.Fence {
		t.Errorf("fences %d, then %d: they must go on growing", r.Fence, again.Fence)
	}
}

func releaseCommit(t *desk.T) {
	d := t.Desk(ledger.Options{})
	end := func(thread string) *posthouse.Committed {
		t.Helper()
		c, err := d.Claim(t.Ctx, thread, "run")
		t.OK(err)
		done, err := d.Commit(t.Ctx, &ledger.Draft{
			Thread: thread, Claim: c, Release: &ledger.ReleaseOptions{Tags: []string{"done"}},
			Checkpoint: &posthouse.Change{Status: posthouse.StatusDone, State: desk.State("end of " + thread)},
		})
		t.OK(err)
		t.OK(c.Release(t.Ctx))
		return done
	}
	waits := d.Ask("t", posthouse.Gate{Name: "ok?"})
	for _, thread := range []string{"t", "new", "t"} {
		done := end(thread)
		r := done.Release
		b, ok := r.Head("")
		if !ok || b.Head != done.Checkpoint.ID || r.Seq != done.Seq || r.Hash != done.Hash || desk.Content(d.MustGet(b.Head)) != "end of "+thread {
			t.Errorf("committed %+v with release %+v", done.Checkpoint, r)
		}
		if last, err := ledger.LastRelease(t.Ctx, d.Ledger, thread); err != nil || !slices.Equal(last.Heads, r.Heads) || last.Base != r.Base || last.Checkpoints != r.Checkpoints {
			t.Errorf("%+v on record, error %v, want %+v", last, err, r)
		}
	}
	wantVersions(d, "t", "2: 1", "1: 2")
	g, err := d.Gate(t.Ctx, waits.Gates[0].ID)
	t.OK(err)
	if g.Decision == nil || g.Decision.Verdict != posthouse.Cancel {
		t.Errorf("the gate's decision is %+v", g.Decision)
	}
	_, err = d.Commit(t.Ctx, &ledger.Draft{
		Thread: "t", Release: &ledger.ReleaseOptions{}, Gates: []posthouse.Gate{{Name: "ok?"}},
		Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting},
	})
	d.WantErr(err, posthouse.ErrInvalid)
}

func releasedFork(t *desk.T) {
	d := t.Desk(ledger.Options{})
	old := d.Root("t", "", "old")
	d.Step("t", "2/n", "a")
	asked := d.Wait("t", "2/n", nil, "note")
	d.MustRelease("t", nil)
	child := old.Derive(desk.State("child"))
	_, err := d.Save(t.Ctx, child, nil)
	d.WantErr(err, posthouse.ErrConflict)
	_, err = d.Save(t.Ctx, d.MustGet(old.ID), nil)
	t.OK(err) // the same content again changes nothing
	changed := d.MustGet(old.ID)
	changed.State = desk.State("changed")
	_, err = d.Save(t.Ctx, changed, &ledger.SaveOptions{Replace: true})
	d.WantErr(err, posthouse.ErrExists)

	f, err := d.Fork(t.Ctx, asked.Checkpoint.ID, nil)
	t.OK(err)
	if f.Branch != posthouse.MainBranch || !f.IsRoot() || f.Generation != 2 || f.Source.ID != asked.Checkpoint.ID || len(f.Gates) != 1 ||
		f.Metadata["note"] != "note" || desk.Content(f) != "old" {
		t.Errorf("the fork is %+v", f)
	}
	x, err := desk.ExecutionOf(t.Ctx, t.Desk(ledger.Options{}).Ledger, &f.Header, "2/n")
	t.OK(err)
	if len(x.Steps) != 1 || len(x.Gates) != 1 || x.Gates[0].Decision != nil || x.Gates[0].ID == asked.Gates[0].ID {
		t.Errorf("%d steps and gates %+v on record", len(x.Steps), x.Gates)
	}
	side, err := d.Fork(t.Ctx, old.ID, nil)
	t.OK(err)
	if side.Branch != "fork-1" || !side.IsRoot() || desk.Content(d.MustGet(side.ID)) != "old" {
		t.Errorf("the second fork is %+v", side)
	}
	d.WantStates(posthouse.Query{Thread: "t"}, "old", "old")
}

func releaseLists(t *desk.T) {
	d := t.Desk(ledger.Options{})
	var all []string
	for g := range 3 {
		c := d.Root("t", "", fmt.Sprint(g, "-0"))
		for i := range 3 {
			c = d.Derive(c, fmt.Sprint(g, "-", i+1))
		}
		all = append(all, desk.Numbered(fmt.Sprint(g, "-"), 4)...)
		if g < 2 {
			d.MustRelease("t", nil)
		}
		d.Root("other", "", "x")
	}
	d.WantStates(posthouse.Query{Thread: "t"}, all[8:]...)
	for g := range uint32(3) {
		want := all[4*g : 4*g+4]
		d.WantStates(posthouse.Query{Thread: "t", Generation: g + 1}, want...)
		for _, size := range []int{1, 3} {
			var up, down []string
			for _, descending := range []bool{false, true} {
				q := posthouse.Query{Thread: "t", Generation: g + 1, Descending: descending, Limit: size}
				for more := true; more; {
					more = false
					for h, err := range d.List(t.Ctx, q) {
						t.OK(err)
						more, q.After = true, h.Cursor()
						if v := desk.Content(d.MustGet(h.ID)); descending {
							down = append(down, v)
						} else {
							up = append(up, v)
						}
					}
				}
			}
			slices.Reverse(down)
			if !slices.Equal(up, want) || !slices.Equal(down, want) {
				t.Errorf("version %d by %d: %q, newest first %q, want %q", g+1, size, up, down, want)
			}
		}
	}
	d.WantStates(posthouse.Query{Thread: "t", Generation: 9})
	d.WantStates(posthouse.Query{Coordination: "t"}, all...)
	d.WantStates(posthouse.Query{Coordination: "t", Generation: 2}, all[4:8]...)
	c, err := d.Latest(t.Ctx, ledger.LatestQuery{Thread: "t"})
	t.OK(err)
	if desk.Content(c) != "2-3" {
		t.Errorf("the latest is %q", desk.Content(c))
	}
}

func releaseExecutions(t *desk.T) {
	d := t.Desk(ledger.Options{})
	d.Root("t", "", "0")
	d.Step("t", "1/flow", "before")
	d.MustRelease("t", nil)
	d.Step("t", "1/flow", "after")
	w := d.Wait("t", "1/flow", nil)
	x, err := desk.ExecutionOf(t.Ctx, t.Desk(ledger.Options{}).Ledger, w.Checkpoint, "1/flow")
	t.OK(err)
	if len(x.Steps) != 1 || x.Steps[0].Name != "after" {
		t.Errorf("on record is %+v", x.Steps)
	}
}

func dropsRelease(t *desk.T) {
	d := t.Desk(ledger.Options{})
	heads := map[int]*posthouse.Checkpoint{}
	var asked posthouse.ID
	for g := range 4 {
		c := d.Root("t", "", fmt.Sprint(g))
		d.Step("t", "2/n", "a")
		heads[g] = d.Derive(c, fmt.Sprint(g, " end"))
		if g == 1 {
			asked = d.Ask("t", posthouse.Gate{Name: "ok?"}).Gates[0].ID
		}
		if g < 3 {
			d.MustRelease("t", &ledger.ReleaseOptions{Tags: []string{fmt.Sprint("v", g+1)}})
		}
	}
	f, err := d.Fork(t.Ctx, heads[1].ID, &ledger.ForkOptions{Thread: "fork"})
	t.OK(err)
	for _, v := range []string{"v2", "1"} { // first one in the middle
		del, err := retain.DropRelease(t.Ctx, d.Ledger, "t", v, &retain.DeleteOptions{By: "alice", Reason: "old"})
		t.OK(err)
		if want := map[string]int{"v2": 3, "1": 2}[v]; del.Checkpoints != want || del.Bodies == 0 || del.Bytes == 0 {
			t.Errorf("dropping %s took %+v", v, del)
		}
		del, err = retain.DropRelease(t.Ctx, d.Ledger, "t", v, nil)
		if err != nil || *del != (retain.Deleted{}) {
			t.Errorf("dropping %s again took %+v, %v", v, del, err)
		}
	}
	_, err = retain.DropRelease(t.Ctx, d.Ledger, "t", "9", nil)
	d.WantErr(err, posthouse.ErrNotFound)
	d = t.Desk(ledger.Options{})
	for _, id := range []posthouse.ID{heads[0].ID, heads[1].ID} {
		_, err := d.Get(t.Ctx, id)
		d.WantErr(err, posthouse.ErrNotFound)
	}
	_, err = d.Gate(t.Ctx, asked)
	d.WantErr(err, posthouse.ErrNotFound)
	wantVersions(d, "t", "3: 2", "2: 3", "1: 2")
	d.WantStates(posthouse.Query{Thread: "t", Generation: 2})
	d.WantStates(posthouse.Query{Thread: "t", Generation: 3}, "2", "2 end")
	d.WantStates(posthouse.Query{Thread: "t"}, "3", "3 end")
	if desk.Content(d.MustGet(f.ID)) != "1 end" {
		t.Error("the fork is damaged")
	}
	d.Derive(heads[3], "goes on")
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if info.Releases != 3 || info.Archived != 2 || info.Checkpoints != 3 {
		t.Errorf("the summary is %+v", info)
	}
	read := t.Read("t", posthouse.Range{})
	want := slices.Clone(read)
	slices.Reverse(want)
	t.WantEntries("Read back", t.Read("t", posthouse.Range{Reverse: true}), want)
	if _, err := retain.Compact(t.Ctx, d.Ledger); !desk.IsCode(err, posthouse.CodeUnsupported) {
		t.OK(err)
	}
	t.Check(t.Store)
}

func deletesReleased(t *desk.T) {
	d := t.Desk(ledger.Options{})
	first := d.Root("t", "", "0")
	d.Derive(first, "1")
	d.MustRelease("t", nil)
	d.Root("t", "", "2")
	for _, mode := range []retain.DeleteMode{retain.DeleteRefuse, retain.DeleteOrphan, retain.DeleteSubtree} {
		_, err := retain.Delete(t.Ctx, d.Ledger, first.ID, &retain.DeleteOptions{Mode: mode})
		if e := d.WantErr(err, posthouse.ErrConflict); !strings.Contains(e.Hint, "thread drop t 1") {
			t.Errorf("mode %q: the hint is %q", mode, e.Hint)
		}
	}
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if info.Checkpoints != 1 || info.Archived != 2 {
		t.Errorf("left %+v", info)
	}
	d.WantStates(posthouse.Query{}, "0", "1", "2")
	t.Check(t.Store)
	var del *retain.Deleted
	d.MustRelease("t", nil)
	del, err = retain.DeleteThread(t.Ctx, d.Ledger, "t", nil)
	if err != nil || del.Checkpoints != 3 {
		t.Errorf("deleting a released thread took %+v, %v", del, err)
	}
	wantVersions(d, "t")
	d.WantStates(posthouse.Query{})
	_, err = retain.DeleteThread(t.Ctx, d.Ledger, "t", nil)
	d.WantErr(err, posthouse.ErrNotFound)

	d.Root("u", "", "0")
	d.MustRelease("u", nil)
	d.Root("u", "", "1")
	del, err = retain.DeleteCoordination(t.Ctx, d.Ledger, "u", nil)
	if err != nil || del.Checkpoints != 2 {
		t.Errorf("deleting a coordination took %+v, %v", del, err)
	}
	wantVersions(d, "u")
	d.Root("u", "", "2")
	d.MustRelease("u", nil)
	wantVersions(d, "u", "3: 1")
	d.Root("mixed", "label", "3")
	d.MustRelease("mixed", nil)
	for _, left := range []int{1, 0} { // with one of the label in the current generation, then without
		if left == 1 {
			d.Derive(d.Root("mixed", "", "4"), "5")
			d.Root("mixed", "label", "6")
		}
		del, err = retain.DeleteCoordination(t.Ctx, d.Ledger, "label", nil)
		if e := d.WantErr(err, posthouse.ErrConflict); del == nil || del.Checkpoints != left || !strings.Contains(e.Hint, "thread drop mixed 1") {
			t.Errorf("deleting a coordination with versions took %+v, hint %q", del, e.Hint)
		}
		d.WantStates(posthouse.Query{Thread: "mixed", Generation: 1}, "3")
	}
	t.Check(t.Store)
}

func evictsReleased(t *desk.T) {
	d := t.Desk(ledger.Options{MaxCheckpoints: 3})
	for g := range 2 {
		c := d.Root("t", "", fmt.Sprint(g, " root"))
		for i := range 3 {
			c = d.Derive(c, fmt.Sprint(g, " ", i))
		}
		d.MustRelease("t", nil)
	}
	d.Derive(d.Root("t", "", "now"), "head")
	d.WantStates(posthouse.Query{}, "0 2", "1 2", "head")
	t.Check(t.Store)
	if _, err := retain.Compact(context.WithoutCancel(t.Ctx), d.Ledger); !desk.IsCode(err, posthouse.CodeUnsupported) {
		t.OK(err)
	}
	d.WantStates(posthouse.Query{Thread: "t", Generation: 1}, "0 2")
}
