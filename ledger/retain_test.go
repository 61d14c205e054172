package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

func (w *world) policy() retain.Policy {
	r := retain.Policy{
		MaxAge:       time.Duration(rapid.IntRange(0, 20).Draw(w.t, "days")) * 24 * time.Hour,
		MaxPerThread: rapid.IntRange(0, 6).Draw(w.t, "per thread"),
		KeepLast:     rapid.IntRange(0, 3).Draw(w.t, "last"),
		DropSources:  rapid.Bool().Draw(w.t, "drop sources"),
	}
	if rapid.Bool().Draw(w.t, "versions") {
		r.Released = time.Duration(rapid.IntRange(1, 10).Draw(w.t, "days released")) * 24 * time.Hour
		r.KeepVersions = rapid.IntRange(0, 2).Draw(w.t, "versions kept")
		r.KeepTags = []string{"gold"}
	}
	if r.MaxAge == 0 && r.MaxPerThread == 0 && r.Released == 0 {
		r.MaxPerThread = 1
	}
	if rapid.Bool().Draw(w.t, "by label") {
		r.KeepLabels = map[string]string{"keep": rapid.SampledFrom([]string{"", "yes", "other"}).Draw(w.t, "label")}
	}
	if rapid.Bool().Draw(w.t, "by branch") {
		r.KeepBranches = []string{"fork-1"}
	}
	return r
}

// stays says whether guarantee 11 or the policy keeps a checkpoint, told from
// what there was before.
func (w *world) stays(c *posthouse.Checkpoint, info *posthouse.ThreadInfo, r retain.Policy) string {
	if c.Generation < info.Generation {
		rel, err := ledger.FindRelease(w.ctx, w.l, c.Thread, fmt.Sprint(c.Generation))
		w.ok(err)
		switch {
		case info.Hold.Seq != 0:
			return "a held thread's version"
		case r.Released == 0 || w.now.Sub(rel.At) <= r.Released:
			return "a version that is young"
		case len(rel.Tags) > 0:
			return "a tagged version"
		case info.Generation-c.Generation <= uint32(r.KeepVersions):
			return "one of the newest versions"
		}
		return ""
	}
	if info.Hold.Seq != 0 {
		return "a held thread"
	}
	for _, b := range info.Branches {
		if b.Head == c.ID {
			return "a head"
		}
	}
	for _, g := range info.Waiting {
		if g.Seq == c.Seq {
			return "a waiting gate"
		}
	}
	if want, ok := r.KeepLabels["keep"]; ok && c.Labels["keep"] != "" && (want == "" || c.Labels["keep"] == want) {
		return "a kept label"
	}
	if len(r.KeepBranches) > 0 && c.Branch == r.KeepBranches[0] {
		return "a kept branch"
	}
	if r.MaxPerThread == 0 && (r.MaxAge == 0 || w.now.Sub(c.CreatedAt) <= r.MaxAge) {
		return "too young"
	}
	return ""
}

// TestRetentionKeepsWhatItMust applies any policy to random histories: heads,
// waiting gates, held threads, sources of forks and what the policy names stay;
// each kept state is rebuilt byte for byte, executions keep their results; a dry
// run says exactly what the run then takes; every removal is reported; nothing
// is left for a second pass; and a copy of what is left is as good.
func TestRetentionKeepsWhatItMust(t *testing.T) {
	removed := 0
	rapid.Check(t, func(rt *rapid.T) {
		var told []posthouse.ID
		w := newWorld(rt, ledger.Options{Observer: func(e posthouse.Operation) {
			switch e.Kind {
			case posthouse.OpEvicted:
				told = append(told, e.ID)
			case posthouse.OpDeleted:
				told = append(told, make([]posthouse.ID, e.Count)...)
			}
		}})
		for range rapid.IntRange(1, 3).Draw(rt, "rounds") {
			w.fill(rapid.IntRange(5, 60).Draw(rt, "n"))
			if rapid.IntRange(0, 2).Draw(rt, "hold") == 0 {
				if _, err := retain.Hold(w.ctx, w.l, w.thread(), retain.HoldOptions{By: "legal", Reason: "case 7"}); !errors.Is(err, posthouse.ErrNotFound) {
					w.ok(err)
				}
			}
			was := w.standing()
			r := w.policy()
			dry, err := retain.Run(w.ctx, w.l, r, &retain.Options{DryRun: true})
			w.ok(err)
			told = nil
			done, err := retain.Run(w.ctx, w.l, r, nil)
			w.ok(err)
			dry.DryRun = false
			if !reflect.DeepEqual(dry, done) {
				rt.Errorf("the dry run said %+v, the run took %+v", *dry, *done)
			}
			after := map[posthouse.ID]bool{}
			for h, err := range w.l.List(w.ctx, posthouse.Query{}) {
				w.ok(err)
				after[h.ID] = true
				c, err := w.l.Get(w.ctx, h.ID)
				if err != nil || !reflect.DeepEqual(c, was.checkpoints[h.ID]) {
					rt.Errorf("%s is not what it was: %v", h.ID, err)
				}
			}
			gone := 0
			for id, c := range was.checkpoints {
				if after[id] {
					continue
				}
				gone++
				if why := w.stays(c, was.threads[c.Thread], r); why != "" {
					rt.Errorf("%s went: %s", id, why)
				}
				if was.sources[id] && !r.DropSources {
					rt.Errorf("%s went: a fork was made from it", id)
				}
			}
			if gone != done.Checkpoints || gone != len(told) {
				rt.Errorf("%d went, %d were counted, %d told", gone, done.Checkpoints, len(told))
			}
			for thread, before := range was.executions {
				info, err := w.l.Thread(w.ctx, thread)
				if errors.Is(err, posthouse.ErrNotFound) && len(was.threads[thread].Branches) == 0 {
					continue // it had lost its branches before
				}
				w.ok(err)
				if now := w.executions(info); now != before {
					rt.Errorf("the executions of %s were %s, and are %s", thread, before, now)
				}
			}
			removed += gone
			again, err := retain.Run(w.ctx, w.l, r, nil)
			w.ok(err)
			if r.DropSources && (again.Bodies != 0 || again.Checkpoints != 0) { // else a fork that went lets its source go
				rt.Errorf("a second pass took %+v", again)
			}
			w.copied()
			wantChecked(rt, w.store)
		}
	})
	if removed == 0 {
		t.Error("no policy ever removed anything")
	}
}

// A standing is what a world has at one time.
type standing struct {
	checkpoints map[posthouse.ID]*posthouse.Checkpoint
	threads     map[string]*posthouse.ThreadInfo
	executions  map[string]string     // by thread
	sources     map[posthouse.ID]bool // of forks that stand by themselves
}

func (w *world) standing() *standing {
	s := &standing{map[posthouse.ID]*posthouse.Checkpoint{}, map[string]*posthouse.ThreadInfo{}, map[string]string{}, map[posthouse.ID]bool{}}
	for h, err := range w.l.List(w.ctx, posthouse.Query{}) {
		w.ok(err)
		s.checkpoints[h.ID], err = w.l.Get(w.ctx, h.ID)
		w.ok(err)
	}
	for info, err := range w.store.Threads(w.ctx, posthouse.ThreadQuery{}) {
		w.ok(err)
		s.threads[info.Thread] = info
	}
	for info, err := range w.l.Threads(w.ctx, posthouse.ThreadQuery{}) {
		w.ok(err)
		s.executions[info.Thread] = w.executions(info)
	}
	for _, c := range s.checkpoints {
		if c.Kind != posthouse.KindFork {
			continue
		}
		from := s.checkpoints[c.Source.ID]
		if from == nil || from.Thread == c.Thread && from.Generation == c.Generation && c.Generation < s.threads[c.Thread].Generation {
			continue // gone, or a version's own: both go with it
		}
		s.sources[c.Source.ID] = true
	}
	return s
}

// copied puts all threads into another store, as files: what is left is whole.
func (w *world) copied() {
	there, err := ledger.Open(memstore.New(), nil)
	w.ok(err)
	for thread := range w.there() {
		var file bytes.Buffer
		_, err := transfer.Export(w.ctx, w.l, thread, &file, nil)
		w.ok(err)
		_, err = transfer.Import(w.ctx, there, bytes.NewReader(file.Bytes()), nil)
		w.ok(err)
	}
	wantSameStores(w.t, w.l, there)
	byCopy := memstore.New()
	_, err = transfer.CopyStore(w.ctx, w.store, byCopy, nil)
	w.ok(err)
	there, err = ledger.Open(byCopy, nil)
	w.ok(err)
	wantSameStores(w.t, w.l, there)
	wantChecked(w.t, byCopy)
}

// executions says what is on record for each head's execution.
func (w *world) executions(info *posthouse.ThreadInfo) string {
	var s strings.Builder
	for _, b := range info.Branches {
		h, err := w.l.GetHeader(w.ctx, b.Head)
		w.ok(err)
		x, err := executionOf(w.ctx, w.l, h, "1/n")
		w.ok(err)
		fmt.Fprintf(&s, "%s %d steps %d gates; ", b.Branch, len(x.Steps), len(x.Gates))
	}
	return s.String()
}

// TestRetentionIsRefusedByField lists policies that make no sense.
func TestRetentionIsRefusedByField(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	for field, r := range map[string]retain.Policy{
		"MaxAge": {MaxAge: -1}, "MaxPerThread": {MaxPerThread: -1}, "KeepLast": {KeepLast: -1, MaxAge: 1},
		"Released": {Released: -1}, "Finished": {Finished: -1}, "Slots": {Slots: -1}, "KeepVersions": {KeepVersions: -1, Released: 1}, "Retention": {KeepLast: 5},
	} {
		_, err := retain.Run(ctx, l, r, nil)
		wantField(t, err, posthouse.ErrInvalid, field)
	}
	err := retain.Every(ctx, l, retain.Policy{MaxAge: time.Hour}, 0)
	wantField(t, err, posthouse.ErrInvalid, "every")
}

// TestRetentionPassesBusyThreadsOver has a run hold a thread: the pass says so,
// and the next one takes what may go.
func TestRetentionPassesBusyThreadsOver(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, 0)), nil))(t)
	for i := range 5 {
		c = must.Get(l.Save(ctx, c.Derive(opaque(t, strings.Repeat("x", 100*i))), nil))(t)
	}
	claim := must.Get(l.Claim(ctx, "t", "run"))(t)
	r := retain.Policy{MaxPerThread: 2}
	for _, dry := range []bool{true, false} {
		done := must.Get(retain.Run(ctx, l, r, &retain.Options{DryRun: dry}))(t)
		if done.Busy != 1 || done.Checkpoints != 0 {
			t.Errorf("with the thread in use: %+v", done)
		}
	}
	if err := claim.Release(ctx); err != nil {
		t.Fatal(err)
	}
	done := must.Get(retain.Run(ctx, l, r, nil))(t)
	if done.Busy != 0 || done.Checkpoints != 4 || done.Changed != 1 {
		t.Errorf("afterwards: %+v", done)
	}
}

// TestHold holds a thread: nothing of it can be removed by any way until the
// hold is lifted, work goes on, and who held it and why is told.
func TestHold(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, 1)), nil))(t)
	head := must.Get(l.Save(ctx, c.Derive(opaque(t, 2)), nil))(t)
	_, err := retain.Hold(ctx, l, "nobody", retain.HoldOptions{By: "legal"})
	if !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("holding what is not there: %v", err)
	}
	_, err = retain.Hold(ctx, l, "t", retain.HoldOptions{})
	wantField(t, err, posthouse.ErrInvalid, "by")
	h := must.Get(retain.Hold(ctx, l, "t", retain.HoldOptions{By: "legal", Reason: "case 7"}))(t)
	again := must.Get(retain.Hold(ctx, l, "t", retain.HoldOptions{By: "somebody else"}))(t)
	if *again != *h || h.By != "legal" {
		t.Errorf("held by %+v, then by %+v", h, again)
	}
	fresh := must.Get(ledger.Open(l.Store(), &ledger.Options{MaxCheckpoints: 1}))(t)
	if info := must.Get(fresh.Thread(ctx, "t"))(t); info.Hold != *h {
		t.Errorf("after a restart the hold is %+v", info.Hold)
	}
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, posthouse.ErrForbidden) || !strings.Contains(err.Error(), "case 7") || !strings.Contains(err.Error(), "unhold") {
			t.Errorf("the refusal is %v", err)
		}
	}
	for _, l := range []*ledger.Ledger{l, fresh} {
		_, err = retain.Delete(ctx, l, head.ID, nil)
		refused(err)
		_, err = retain.Delete(ctx, l, c.ID, &retain.DeleteOptions{Mode: retain.DeleteSubtree})
		refused(err)
		_, err = retain.DeleteThread(ctx, l, "t", nil)
		refused(err)
		_, err = retain.DeleteCoordination(ctx, l, "t", nil)
		refused(err)
	}
	if done := must.Get(retain.Run(ctx, l, retain.Policy{MaxPerThread: 1}, nil))(t); done.Held != 1 || done.Checkpoints != 0 {
		t.Errorf("retention: %+v", done)
	}
	third := must.Get(fresh.Save(ctx, head.Derive(opaque(t, 3)), nil))(t) // work goes on, the cap waits
	for _, id := range []posthouse.ID{c.ID, head.ID, third.ID} {
		must.Get(l.Get(ctx, id))(t)
	}
	if err := retain.Unhold(ctx, l, "t", retain.HoldOptions{By: "legal", Reason: "settled"}); err != nil {
		t.Fatal(err)
	}
	if err := retain.Unhold(ctx, l, "t", retain.HoldOptions{By: "legal"}); err != nil {
		t.Fatal(err)
	}
	if done := must.Get(retain.Run(ctx, l, retain.Policy{MaxPerThread: 1}, nil))(t); done.Checkpoints != 2 {
		t.Errorf("after the hold was lifted: %+v", done)
	}
	must.Get(retain.DeleteThread(ctx, l, "t", nil))(t)
}
