package ledgertest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
)

// ledgerReleaseCases are about versions: LangGraph4j's release and tag.
func ledgerReleaseCases() []Case {
	return []Case{
		{Name: "ledger/a release frees the name and keeps the version", Rule: "After a release there is no head, no thread and nothing to list; the old checkpoints load by id; the name begins anew; the versions are listed newest first (L5, L8, testMemoryWithVersionsSaver).", Run: ledgerReleases},
		{Name: "ledger/versions by number and by tag", Rule: "A version is found by its number, a tag leads to the newest that has it; bad tags are ErrInvalid.", Run: ledgerReleaseTags},
		{Name: "ledger/a release cancels what waits", Rule: "Open gates of every branch are cancelled with the release, on record; the inbox is empty and the question is decided.", Run: ledgerReleaseGates},
		{Name: "ledger/who may release", Rule: "Releasing is refused while somebody runs the thread, goes with the run's own claim, which ends with it, and is ErrNotFound where there is nothing.", Run: ledgerReleaseLease},
		{Name: "ledger/a commit that releases", Rule: "A draft's checkpoint and the release are one entry: the version's head is that checkpoint, its answer the release (L22).", Run: ledgerReleaseCommit},
		{Name: "ledger/a released checkpoint is not gone on from", Rule: "A child of it is ErrConflict, a new revision ErrExists; a fork takes it up in the thread as it is now, as a root with what its execution had on record.", Run: ledgerReleasedFork},
		{Name: "ledger/lists of a version", Rule: "A thread's list shows the current generation, with Generation that one, in both directions and by pages; lists across threads show all.", Run: ledgerReleaseLists},
		{Name: "ledger/a new generation knows nothing of the old", Rule: "Results recorded before a release are not on record for an execution after it.", Run: ledgerReleaseExecutions},
		{Name: "ledger/dropping a version", Rule: "All of it goes but its release; other versions, the current generation and forks stay whole; dropping again takes nothing.", Run: ledgerDropsRelease},
		{Name: "ledger/deleting from versions", Rule: "A checkpoint of a released version is not deleted, in any mode: the refusal is ErrConflict and says how to drop the version. Deleting a coordination leaves versions alone where the thread stays, and says so; deleting the thread, or all that it has, takes them along.", Run: ledgerDeletesReleased},
		{Name: "ledger/the cap keeps where versions ended", Rule: "Eviction takes a released version's earlier checkpoints, never the last of a branch.", Run: ledgerEvictsReleased},
	}
}

func (d *desk) release(thread string, o *ledger.ReleaseOptions) *posthouse.Release {
	d.Helper()
	r, err := d.Release(d.ctx, thread, o)
	d.OK(err)
	return r
}

// versions lists a thread's versions as "number: checkpoints".
func (d *desk) versions(thread string) (out []string) {
	d.Helper()
	for r, err := range d.Releases(d.ctx, thread) {
		d.OK(err)
		out = append(out, fmt.Sprint(r.Version, ": ", r.Checkpoints))
	}
	return out
}

func (d *desk) wantVersions(thread string, want ...string) {
	d.Helper()
	if got := d.versions(thread); !slices.Equal(got, want) {
		d.Errorf("versions of %s are %q, want %q", thread, got, want)
	}
}

func ledgerReleases(t *T) {
	var told []string
	d := t.desk(ledger.Options{Observer: func(e posthouse.Operation) {
		if e.Kind == posthouse.OpReleased {
			told = append(told, fmt.Sprint(e.Thread, " ", e.Release.Version))
		}
	}})
	first := d.root("t", "", "0")
	last := d.derive(first, "1")
	r := d.release("t", &ledger.ReleaseOptions{By: "alice", Reason: "shipped", Failed: true})
	if b, ok := r.Head(""); !ok || b.Head != last.ID || r.Version != 1 || r.Checkpoints != 2 || r.By != "alice" || !r.Failed {
		t.Errorf("the release is %+v", r)
	}
	_, err := d.Latest(t.ctx, ledger.LatestQuery{Thread: "t"})
	d.wantErr(err, posthouse.ErrNotFound)
	_, err = d.Latest(t.ctx, ledger.LatestQuery{Thread: "t", Node: "n"})
	d.wantErr(err, posthouse.ErrNotFound)
	_, err = d.Thread(t.ctx, "t")
	d.wantErr(err, posthouse.ErrNotFound)
	d.wantStates(posthouse.Query{Thread: "t"})
	for info, err := range d.Threads(t.ctx, posthouse.ThreadQuery{}) {
		t.Errorf("there is %v, %v", info, err)
	}
	d.wantStates(posthouse.Query{Thread: "t", Generation: 1}, "0", "1")

	if c := d.root("t", "", "2"); c.Generation != 2 || !c.IsRoot() || c.Seq != r.Seq+1 {
		t.Errorf("anew: %+v", c.Header)
	}
	d = t.desk(ledger.Options{}) // what another process sees
	if got := d.get(last.ID); content(got) != "1" || got.Parent != first.ID || got.Generation != 1 {
		t.Errorf("the released checkpoint is %+v", got)
	}
	d.wantStates(posthouse.Query{Thread: "t"}, "2")
	again := d.release("t", nil)
	d.wantVersions("t", "2: 1", "1: 2")
	newest, err := ledger.LastRelease(t.ctx, d, "t")
	t.OK(err)
	if newest.Hash != again.Hash || newest.Seq != again.Seq || newest.Version != 2 || newest.First != r.Seq+1 {
		t.Errorf("the last release is %+v, want %+v", newest, again)
	}
	if !slices.Equal(told, []string{"t 1"}) {
		t.Errorf("told of %q", told)
	}
	n := 0
	for info, err := range d.Threads(t.ctx, posthouse.ThreadQuery{Released: true}) {
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

func ledgerReleaseTags(t *T) {
	d := t.desk(ledger.Options{})
	for _, tags := range [][]string{{"stable", "may"}, {"stable"}, nil} {
		d.root("t", "", "x")
		d.release("t", &ledger.ReleaseOptions{Tags: tags})
	}
	for key, want := range map[string]uint32{"1": 1, "3": 3, "stable": 2, "may": 1} {
		r, err := ledger.FindRelease(t.ctx, d, "t", key)
		t.OK(err)
		if r.Version != want {
			t.Errorf("%q leads to version %d, want %d", key, r.Version, want)
		}
	}
	for _, key := range []string{"4", "0", "", "nightly"} {
		_, err := ledger.FindRelease(t.ctx, d, "t", key)
		d.wantErr(err, posthouse.ErrNotFound)
	}
	_, err := ledger.LastRelease(t.ctx, d, "nobody")
	d.wantErr(err, posthouse.ErrNotFound)
	d.root("t", "", "x")
	for _, tags := range [][]string{{""}, {"12"}, {"a", "a"}, {"a\n"}, slices.Repeat([]string{"a"}, 17)} {
		_, err := d.Release(t.ctx, "t", &ledger.ReleaseOptions{Tags: tags})
		d.wantErr(err, posthouse.ErrInvalid)
	}
	_, err = d.Release(t.ctx, "t", &ledger.ReleaseOptions{Reason: "a\x00"})
	d.wantErr(err, posthouse.ErrInvalid)
}

func ledgerReleaseGates(t *T) {
	d := t.desk(ledger.Options{})
	done := d.ask("t", posthouse.Gate{Name: "ok?"}, posthouse.Gate{Name: "sure?"})
	side, err := d.Fork(t.ctx, done.Checkpoint.ID, nil)
	t.OK(err)
	d.release("t", nil)
	for g, err := range d.Gates(t.ctx, ledger.GateQuery{}) {
		t.Errorf("the inbox has %v, %v", g, err)
	}
	for _, id := range slices.Concat(done.Checkpoint.Gates, side.Gates) {
		_, err := d.Decide(t.ctx, id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
		if e := d.wantErr(err, posthouse.ErrDecided); e.Decision.Verdict != posthouse.Cancel {
			t.Errorf("gate %s was decided: %+v", id, e.Decision)
		}
	}
}

func ledgerReleaseLease(t *T) {
	d := t.desk(ledger.Options{})
	_, err := d.Release(t.ctx, "t", nil)
	d.wantErr(err, posthouse.ErrNotFound)
	c, err := d.Claim(t.ctx, "t", "run")
	t.OK(err)
	_, err = d.Commit(t.ctx, &ledger.Draft{Thread: "t", Claim: c, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}})
	t.OK(err)
	_, err = d.Release(t.ctx, "t", nil)
	d.wantErr(err, posthouse.ErrBusy)
	r := d.release("t", &ledger.ReleaseOptions{Claim: c})
	_, err = d.Commit(t.ctx, &ledger.Draft{Thread: "t", Claim: c, Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}})
	d.wantErr(err, posthouse.ErrFenced)
	t.OK(c.Release(t.ctx))
	_, err = d.Release(t.ctx, "t", nil)
	d.wantErr(err, posthouse.ErrNotFound)
	next, err := d.Claim(t.ctx, "t", "run")
	t.OK(err)
	_, err = d.Commit(t.ctx, &ledger.Draft{Thread: "t", Claim: next, Checkpoint: &posthouse.Change{Status: posthouse.StatusDone}})
	t.OK(err)
	t.OK(next.Release(t.ctx))
	if again := d.release("t", nil); again.Fence <= r.Fence {
		t.Errorf("fences %d, then %d: they must go on growing", r.Fence, again.Fence)
	}
}

func ledgerReleaseCommit(t *T) {
	d := t.desk(ledger.Options{})
	end := func(thread string) *posthouse.Committed {
		t.Helper()
		c, err := d.Claim(t.ctx, thread, "run")
		t.OK(err)
		done, err := d.Commit(t.ctx, &ledger.Draft{
			Thread: thread, Claim: c, Release: &ledger.ReleaseOptions{Tags: []string{"done"}},
			Checkpoint: &posthouse.Change{Status: posthouse.StatusDone, State: state("end of " + thread)},
		})
		t.OK(err)
		t.OK(c.Release(t.ctx))
		return done
	}
	waits := d.ask("t", posthouse.Gate{Name: "ok?"})
	for _, thread := range []string{"t", "new", "t"} {
		done := end(thread)
		r := done.Release
		b, ok := r.Head("")
		if !ok || b.Head != done.Checkpoint.ID || r.Seq != done.Seq || r.Hash != done.Hash || content(d.get(b.Head)) != "end of "+thread {
			t.Errorf("committed %+v with release %+v", done.Checkpoint, r)
		}
		if last, err := ledger.LastRelease(t.ctx, d, thread); err != nil || !slices.Equal(last.Heads, r.Heads) || last.Base != r.Base || last.Checkpoints != r.Checkpoints {
			t.Errorf("%+v on record, error %v, want %+v", last, err, r)
		}
	}
	d.wantVersions("t", "2: 1", "1: 2")
	g, err := d.Gate(t.ctx, waits.Gates[0].ID)
	t.OK(err)
	if g.Decision == nil || g.Decision.Verdict != posthouse.Cancel {
		t.Errorf("the gate's decision is %+v", g.Decision)
	}
	_, err = d.Commit(t.ctx, &ledger.Draft{
		Thread: "t", Release: &ledger.ReleaseOptions{}, Gates: []posthouse.Gate{{Name: "ok?"}},
		Checkpoint: &posthouse.Change{Status: posthouse.StatusWaiting},
	})
	d.wantErr(err, posthouse.ErrInvalid)
}

func ledgerReleasedFork(t *T) {
	d := t.desk(ledger.Options{})
	old := d.root("t", "", "old")
	d.step("t", "2/n", "a")
	asked := d.wait("t", "2/n", nil, "note")
	d.release("t", nil)
	child := old.Derive(state("child"))
	_, err := d.Save(t.ctx, child, nil)
	d.wantErr(err, posthouse.ErrConflict)
	_, err = d.Save(t.ctx, d.get(old.ID), nil)
	t.OK(err) // the same content again changes nothing
	changed := d.get(old.ID)
	changed.State = state("changed")
	_, err = d.Save(t.ctx, changed, &ledger.SaveOptions{Replace: true})
	d.wantErr(err, posthouse.ErrExists)

	f, err := d.Fork(t.ctx, asked.Checkpoint.ID, nil)
	t.OK(err)
	if f.Branch != posthouse.MainBranch || !f.IsRoot() || f.Generation != 2 || f.Source.ID != asked.Checkpoint.ID || len(f.Gates) != 1 ||
		f.Metadata["note"] != "note" || content(f) != "old" {
		t.Errorf("the fork is %+v", f)
	}
	x, err := t.desk(ledger.Options{}).Core().Execution(t.ctx, &f.Header, "2/n")
	t.OK(err)
	if len(x.Steps) != 1 || len(x.Gates) != 1 || x.Gates[0].Decision != nil || x.Gates[0].ID == asked.Gates[0].ID {
		t.Errorf("%d steps and gates %+v on record", len(x.Steps), x.Gates)
	}
	side, err := d.Fork(t.ctx, old.ID, nil)
	t.OK(err)
	if side.Branch != "fork-1" || !side.IsRoot() || content(d.get(side.ID)) != "old" {
		t.Errorf("the second fork is %+v", side)
	}
	d.wantStates(posthouse.Query{Thread: "t"}, "old", "old")
}

func ledgerReleaseLists(t *T) {
	d := t.desk(ledger.Options{})
	var all []string
	for g := range 3 {
		c := d.root("t", "", fmt.Sprint(g, "-0"))
		for i := range 3 {
			c = d.derive(c, fmt.Sprint(g, "-", i+1))
		}
		all = append(all, numbered(fmt.Sprint(g, "-"), 4)...)
		if g < 2 {
			d.release("t", nil)
		}
		d.root("other", "", "x")
	}
	d.wantStates(posthouse.Query{Thread: "t"}, all[8:]...)
	for g := range uint32(3) {
		want := all[4*g : 4*g+4]
		d.wantStates(posthouse.Query{Thread: "t", Generation: g + 1}, want...)
		for _, size := range []int{1, 3} {
			var up, down []string
			for _, descending := range []bool{false, true} {
				q := posthouse.Query{Thread: "t", Generation: g + 1, Descending: descending, Limit: size}
				for more := true; more; {
					more = false
					for h, err := range d.List(t.ctx, q) {
						t.OK(err)
						more, q.After = true, h.Cursor()
						if v := content(d.get(h.ID)); descending {
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
	d.wantStates(posthouse.Query{Thread: "t", Generation: 9})
	d.wantStates(posthouse.Query{Coordination: "t"}, all...)
	d.wantStates(posthouse.Query{Coordination: "t", Generation: 2}, all[4:8]...)
	c, err := d.Latest(t.ctx, ledger.LatestQuery{Thread: "t"})
	t.OK(err)
	if content(c) != "2-3" {
		t.Errorf("the latest is %q", content(c))
	}
}

func ledgerReleaseExecutions(t *T) {
	d := t.desk(ledger.Options{})
	d.root("t", "", "0")
	d.step("t", "1/flow", "before")
	d.release("t", nil)
	d.step("t", "1/flow", "after")
	w := d.wait("t", "1/flow", nil)
	x, err := t.desk(ledger.Options{}).Core().Execution(t.ctx, w.Checkpoint, "1/flow")
	t.OK(err)
	if len(x.Steps) != 1 || x.Steps[0].Name != "after" {
		t.Errorf("on record is %+v", x.Steps)
	}
}

func ledgerDropsRelease(t *T) {
	d := t.desk(ledger.Options{})
	heads := map[int]*posthouse.Checkpoint{}
	var asked posthouse.ID
	for g := range 4 {
		c := d.root("t", "", fmt.Sprint(g))
		d.step("t", "2/n", "a")
		heads[g] = d.derive(c, fmt.Sprint(g, " end"))
		if g == 1 {
			asked = d.ask("t", posthouse.Gate{Name: "ok?"}).Gates[0].ID
		}
		if g < 3 {
			d.release("t", &ledger.ReleaseOptions{Tags: []string{fmt.Sprint("v", g+1)}})
		}
	}
	f, err := d.Fork(t.ctx, heads[1].ID, &ledger.ForkOptions{Thread: "fork"})
	t.OK(err)
	for _, v := range []string{"v2", "1"} { // first one in the middle
		del, err := retain.DropRelease(t.ctx, d.Ledger, "t", v, &retain.DeleteOptions{By: "alice", Reason: "old"})
		t.OK(err)
		if want := map[string]int{"v2": 3, "1": 2}[v]; del.Checkpoints != want || del.Bodies == 0 || del.Bytes == 0 {
			t.Errorf("dropping %s took %+v", v, del)
		}
		if del, err = retain.DropRelease(t.ctx, d.Ledger, "t", v, nil); err != nil || *del != (retain.Deleted{}) {
			t.Errorf("dropping %s again took %+v, %v", v, del, err)
		}
	}
	_, err = retain.DropRelease(t.ctx, d.Ledger, "t", "9", nil)
	d.wantErr(err, posthouse.ErrNotFound)
	d = t.desk(ledger.Options{})
	for _, id := range []posthouse.ID{heads[0].ID, heads[1].ID} {
		_, err := d.Get(t.ctx, id)
		d.wantErr(err, posthouse.ErrNotFound)
	}
	_, err = d.Gate(t.ctx, asked)
	d.wantErr(err, posthouse.ErrNotFound)
	d.wantVersions("t", "3: 2", "2: 3", "1: 2")
	d.wantStates(posthouse.Query{Thread: "t", Generation: 2})
	d.wantStates(posthouse.Query{Thread: "t", Generation: 3}, "2", "2 end")
	d.wantStates(posthouse.Query{Thread: "t"}, "3", "3 end")
	if content(d.get(f.ID)) != "1 end" {
		t.Error("the fork is damaged")
	}
	d.derive(heads[3], "goes on")
	info, err := d.Thread(t.ctx, "t")
	t.OK(err)
	if info.Releases != 3 || info.Archived != 2 || info.Checkpoints != 3 {
		t.Errorf("the summary is %+v", info)
	}
	read := t.Read("t", posthouse.Range{})
	want := slices.Clone(read)
	slices.Reverse(want)
	t.WantEntries("Read back", t.Read("t", posthouse.Range{Reverse: true}), want)
	if _, err := retain.Compact(t.ctx, d.Ledger); !isCode(err, posthouse.CodeUnsupported) {
		t.OK(err)
	}
	t.Check(t.Store)
}

func ledgerDeletesReleased(t *T) {
	d := t.desk(ledger.Options{})
	first := d.root("t", "", "0")
	d.derive(first, "1")
	d.release("t", nil)
	d.root("t", "", "2")
	for _, mode := range []retain.DeleteMode{retain.DeleteRefuse, retain.DeleteOrphan, retain.DeleteSubtree} {
		_, err := retain.Delete(t.ctx, d.Ledger, first.ID, &retain.DeleteOptions{Mode: mode})
		if e := d.wantErr(err, posthouse.ErrConflict); !strings.Contains(e.Hint, "thread drop t 1") {
			t.Errorf("mode %q: the hint is %q", mode, e.Hint)
		}
	}
	info, err := d.Thread(t.ctx, "t")
	t.OK(err)
	if info.Checkpoints != 1 || info.Archived != 2 {
		t.Errorf("left %+v", info)
	}
	d.wantStates(posthouse.Query{}, "0", "1", "2")
	t.Check(t.Store)
	var del *retain.Deleted
	d.release("t", nil)
	if del, err = retain.DeleteThread(t.ctx, d.Ledger, "t", nil); err != nil || del.Checkpoints != 3 {
		t.Errorf("deleting a released thread took %+v, %v", del, err)
	}
	d.wantVersions("t")
	d.wantStates(posthouse.Query{})
	_, err = retain.DeleteThread(t.ctx, d.Ledger, "t", nil)
	d.wantErr(err, posthouse.ErrNotFound)

	d.root("u", "", "0")
	d.release("u", nil)
	d.root("u", "", "1")
	if del, err = retain.DeleteCoordination(t.ctx, d.Ledger, "u", nil); err != nil || del.Checkpoints != 2 {
		t.Errorf("deleting a coordination took %+v, %v", del, err)
	}
	d.wantVersions("u")
	d.root("u", "", "2")
	d.release("u", nil)
	d.wantVersions("u", "3: 1")
	d.root("mixed", "label", "3")
	d.release("mixed", nil)
	for _, left := range []int{1, 0} { // with one of the label in the current generation, then without
		if left == 1 {
			d.derive(d.root("mixed", "", "4"), "5")
			d.root("mixed", "label", "6")
		}
		del, err = retain.DeleteCoordination(t.ctx, d.Ledger, "label", nil)
		if e := d.wantErr(err, posthouse.ErrConflict); del == nil || del.Checkpoints != left || !strings.Contains(e.Hint, "thread drop mixed 1") {
			t.Errorf("deleting a coordination with versions took %+v, hint %q", del, e.Hint)
		}
		d.wantStates(posthouse.Query{Thread: "mixed", Generation: 1}, "3")
	}
	t.Check(t.Store)
}

func ledgerEvictsReleased(t *T) {
	d := t.desk(ledger.Options{MaxCheckpoints: 3})
	for g := range 2 {
		c := d.root("t", "", fmt.Sprint(g, " root"))
		for i := range 3 {
			c = d.derive(c, fmt.Sprint(g, " ", i))
		}
		d.release("t", nil)
	}
	d.derive(d.root("t", "", "now"), "head")
	d.wantStates(posthouse.Query{}, "0 2", "1 2", "head")
	t.Check(t.Store)
	if _, err := retain.Compact(context.WithoutCancel(t.ctx), d.Ledger); !isCode(err, posthouse.CodeUnsupported) {
		t.OK(err)
	}
	d.wantStates(posthouse.Query{Thread: "t", Generation: 1}, "0 2")
}
