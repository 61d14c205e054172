package sign_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
	"github.com/posthouse/posthouse/store/memstore"
)

func release(first uint64, heads ...posthouse.BranchHead) posthouse.Record {
	return posthouse.Record{Kind: posthouse.RecordRelease, Release: &posthouse.ReleaseInfo{First: first, Heads: heads}}
}

func releasedHead(id string, seq uint64) posthouse.BranchHead {
	return posthouse.BranchHead{Branch: posthouse.MainBranch, Head: posthouse.ID(id), Seq: seq}
}

// TestReleasesThatContradictTheLog writes logs that are intact and wrong.
func TestReleasesThatContradictTheLog(t *testing.T) {
	dropped := func(version uint32, n int) posthouse.Record {
		return posthouse.Record{Kind: posthouse.RecordRemoval, Removal: &posthouse.RemovalInfo{Version: version, Archived: n}}
	}
	for name, c := range map[string]struct {
		write func(w *writer)
		want  string
		seq   uint64
	}{
		"a plain line": {write: func(w *writer) {
			w.append(recs{claim(1, false), checkpoint("a", "", 0)})
			r := release(1, releasedHead("b", 2))
			r.Release.Fence = 1
			base := w.append(recs{checkpoint("b", "a", 1), r}).Link()
			w.append(recs{checkpoint("c", "", 0)})
			r = release(3, releasedHead("c", 3))
			r.Release.Fence, r.Release.Base = 1, base
			w.append(recs{r})
		}},
		"other heads": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0)})
			w.append(recs{release(1, releasedHead("x", 1))})
		}, "other heads", 2},
		"a head too few": {func(w *writer) { w.append(recs{checkpoint("a", "", 0)}); w.append(recs{release(1)}) }, "other heads", 2},
		"an old head": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0)})
			w.append(recs{checkpoint("b", "a", 1), release(1, releasedHead("a", 1))})
		}, "other heads", 2},
		"another fence": {func(w *writer) {
			w.append(recs{claim(2, false), checkpoint("a", "", 0)})
			w.append(recs{release(1, releasedHead("a", 1))})
		}, "claimed fence 0", 2},
		"a parent from before": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0)})
			w.append(recs{release(1, releasedHead("a", 1))})
			w.append(recs{checkpoint("b", "a", 1)})
		}, "released before", 3},
		"a removal of no version": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0)})
			w.append(recs{dropped(1, 1)}, posthouse.RemovedList{})
		}, "was not released", 2},
		"a removal miscounted": {func(w *writer) {
			w.append(recs{checkpoint("a", "", 0)})
			w.append(recs{release(1, releasedHead("a", 1))})
			w.append(recs{dropped(1, 2)}, posthouse.RemovedList{})
		}, "which had 1", 3},
	} {
		t.Run(name, func(t *testing.T) { wantRecordFault(t, c.write, c.seq, c.want) })
	}
}

// versions fills a thread with versions of two checkpoints each and drops some.
func versions(t *testing.T, key *sign.Key, n int, drop ...int) (*memstore.Store, *ledger.Ledger) {
	t.Helper()
	store := memstore.New()
	l := openLedger(t, store, signer(key), newClock().Now)
	for i := range n {
		save(t, l, "t", fmt.Sprint(i))
		save(t, l, "t", fmt.Sprint(i, " end"))
		must.Get(l.Release(t.Context(), "t", nil))(t)
	}
	save(t, l, "t", "now")
	for _, v := range drop {
		must.Get(retain.DropRelease(t.Context(), l, "t", fmt.Sprint(v), nil))(t)
	}
	return store, l
}

func signer(key *sign.Key) posthouse.Signer {
	if key == nil {
		return nil
	}
	return key
}

// TestDroppedVersionsVerify holds for each of them, and for all at once: the
// chain goes on from release to release, and what is left is covered.
func TestDroppedVersionsVerify(t *testing.T) {
	key := newKey(t)
	for _, drop := range [][]int{{}, {1}, {2}, {3}, {1, 2}, {2, 3}, {3, 1}, {2, 1, 3}} {
		store, l := versions(t, key, 3, drop...)
		save(t, l, "t", "and on")
		must.Get(l.Release(t.Context(), "t", nil))(t)
		r := verify(t, store, ringOf(t, key), &sign.VerifyOptions{RequireSigned: true})
		wantClean(t, r)
		if want := 3*2 + 3 + 2 + len(drop) + 1 - 2*len(drop); r.Entries != want || r.Covered != want {
			t.Errorf("%v dropped: %d entries, %d covered, want %d", drop, r.Entries, r.Covered, want)
		}
		if want := 8 - 2*len(drop); r.Checkpoints != want {
			t.Errorf("%v dropped: %d checkpoints, want %d", drop, r.Checkpoints, want)
		}
		unsigned, _ := versions(t, nil, 3, drop...)
		wantClean(t, verify(t, unsigned, nil, nil))
	}
}

// TestVersionsThatVanished takes entries away as somebody with the database
// would: no record says so, or the release that is left is not the one.
func TestVersionsThatVanished(t *testing.T) {
	key := newKey(t)
	for version := uint64(1); version <= 3; version++ {
		store, _ := versions(t, key, 3)
		first, last := 3*version-2, 3*version
		if _, err := store.Remove(t.Context(), posthouse.Removal{Thread: "t", From: first, Below: last}); err != nil {
			t.Fatal(err)
		}
		wantFault(t, verify(t, store, ringOf(t, key), nil), sign.FaultMissing, "t", first)

		store, _ = versions(t, key, 3, int(version))
		for _, seq := range []uint64{last, last + 1} { // the release, and what follows it
			if seq == 10 {
				continue // the removal's own generation
			}
			gone := &tampered{Store: store, log: func(_ string, es []*posthouse.Entry) []*posthouse.Entry {
				return slices.DeleteFunc(es, func(e *posthouse.Entry) bool { return e.Seq == seq })
			}}
			if r := verify(t, gone, ringOf(t, key), nil); len(r.Faults) == 0 {
				t.Errorf("version %d dropped: nothing is said of entry %d being gone", version, seq)
			}
		}
	}
}

// TestWitnessOfADroppedVersion saw an entry that went with its version.
func TestWitnessOfADroppedVersion(t *testing.T) {
	key := newKey(t)
	store := memstore.New()
	l := openLedger(t, store, key, newClock().Now)
	save(t, l, "t", "one")
	seen := must.Get(statement.Witness(t.Context(), store, key, nil))(t)
	save(t, l, "t", "two")
	must.Get(l.Release(t.Context(), "t", nil))(t)
	save(t, l, "t", "three")
	must.Get(retain.DropRelease(t.Context(), l, "t", "1", nil))(t)
	r := verify(t, store, ringOf(t, key), &sign.VerifyOptions{Witness: seen})
	wantClean(t, r)
	if r.Witnessed != 1 {
		t.Errorf("%d threads witnessed, want 1", r.Witnessed)
	}
}

// TestExportOfADroppedVersion is read back without the entries that went.
func TestExportOfADroppedVersion(t *testing.T) {
	key := newKey(t)
	store, _ := versions(t, key, 3, 2)
	var b strings.Builder
	if err := statement.Export(t.Context(), store, "t", key, &b, nil); err != nil {
		t.Fatal(err)
	}
	trail := must.Get(statement.OpenExport(strings.NewReader(b.String()), ringOf(t, key)))(t)
	if n := len(trail.Entries); n != 9 {
		t.Errorf("%d entries, want 9", n)
	}
}

// TestForkTakesAnAnswerAlong into another thread, where it does not say any more
// which entry its decider saw.
func TestForkTakesAnAnswerAlong(t *testing.T) {
	key := newKey(t)
	store := memstore.New()
	l := openLedger(t, store, key, newClock().Now)
	ask := func() *posthouse.Committed {
		return must.Get(l.Commit(t.Context(), &ledger.Draft{
			Thread: "t", Gates: []posthouse.Gate{{Name: "ok?", Task: "1/n"}},
			Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		}))(t)
	}
	first := ask()
	must.Get(l.Decide(t.Context(), first.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Shown: first.Hash}))(t)
	fork := must.Get(l.Fork(t.Context(), ask().Checkpoint.ID, &ledger.ForkOptions{Thread: "u"}))(t)
	if len(fork.Gates) != 2 {
		t.Errorf("the fork has gates %v", fork.Gates)
	}
	wantClean(t, verify(t, store, ringOf(t, key), nil))
}
