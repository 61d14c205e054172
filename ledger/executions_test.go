package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/reads"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// Whatever happens to a thread, by this process or another, the executions that a process kept and
// read on are those that one reads which knows nothing. Callers write over what they were given.
func TestKeptExecutionsAreThoseOnRecord(t *testing.T) {
	kept, moved := 0, map[string]int{}
	for seed := range uint64(10) {
		h := newKeptHistory(t, seed)
		h.moved = moved
		for range 60 {
			h.act()
			h.compare()
		}
		h.release()
		kept += h.kept
	}
	if kept < 100 {
		t.Errorf("%d answers came from what was kept, want 100 or more", kept)
	}
	for _, name := range []string{"decide", "fork", "update", "revise", "restart", "delete", "retain", "gone", "release", "step"} {
		if moved[name] == 0 {
			t.Errorf("no %s was appended to the log", name)
		}
	}
}

// A thread is removed under a process that kept its executions, and written again: its log is as
// long as before.
func TestKeptExecutionsOfALogThatWasReplaced(t *testing.T) {
	h := newKeptHistory(t, 1)
	h.compare()
	h.compare()
	if h.kept == 0 {
		t.Fatal("nothing was kept")
	}
	if _, err := h.raw.Remove(t.Context(), posthouse.Removal{Thread: "t", All: true}); err != nil {
		t.Fatal(err)
	}
	again := newKeptHistory(t, 2)
	for range 12 {
		again.turn()
	}
	again.release()
	if _, err := transfer.CopyStore(t.Context(), again.raw, h.raw, nil); err != nil {
		t.Fatal(err)
	}
	h.compare()
}

// A keptHistory is a random history of a thread.
type keptHistory struct {
	*testing.T
	*rand.Rand
	seed  uint64
	raw   *memstore.Store
	store *reads.Counter
	here  *ledger.Ledger // of the process that keeps executions
	there *ledger.Ledger // of another process
	now   atomic.Int64   // of both processes, in Unix milliseconds: their heartbeats read it, too
	claim *ledger.Claim
	did   []string
	moved map[string]int // acts that appended to the log
	kept  int            // answers that came from what was kept
}

func newKeptHistory(t *testing.T, seed uint64) *keptHistory {
	h := &keptHistory{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), seed: seed, raw: memstore.New()}
	h.now.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
	h.store = &reads.Counter{Store: h.raw}
	clock := func() time.Time { return time.UnixMilli(h.now.Load()).UTC() }
	h.here = must.Get(ledger.Open(h.store, &ledger.Options{Now: clock, MaxCheckpoints: int(seed % 3 * 20)}))(t)
	h.there = must.Get(ledger.Open(h.raw, &ledger.Options{Now: clock, Owner: "there"}))(t)
	h.begin()
	for range 12 {
		h.turn()
	}
	return h
}

func (h *keptHistory) begin() {
	h.did = append(h.did, "begin")
	claim, err := h.here.Claim(h.Context(), "t", "run")
	if err == nil {
		h.claim = claim
	}
	h.commit("main", ledger.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning}})
}

func (h *keptHistory) release() {
	if h.claim != nil {
		_ = h.claim.Release(h.Context())
		h.claim = nil
	}
}

// by is the ledger of one of the two processes.
func (h *keptHistory) by() *ledger.Ledger {
	if h.IntN(3) == 0 {
		return h.there
	}
	return h.here
}

// commit may fail: then nothing happened.
func (h *keptHistory) commit(branch string, d ledger.Draft) *posthouse.Committed {
	d.Thread, d.Branch, d.Claim = "t", branch, h.claim
	if c := d.Checkpoint; c != nil {
		c.Graph, c.Next = "f", []string{"n"}
	}
	c, err := h.here.Commit(h.Context(), &d)
	if err != nil {
		return nil
	}
	return c
}

func (h *keptHistory) step() posthouse.Step {
	data := bytes.Repeat([]byte("x"), h.IntN(200))
	return posthouse.Step{
		Task: "1/" + string(rune('m'+h.IntN(2))), Name: fmt.Sprint("s", h.IntN(1000)), Effect: posthouse.EffectPure,
		Value: posthouse.Value{Codec: "raw", Data: data},
	}
}

// turn waits for a signal, is sent it, and records a step.
func (h *keptHistory) turn() {
	h.did = append(h.did, "turn")
	h.commit("main", ledger.Draft{
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		Gates:      []posthouse.Gate{{Task: "1/n", Name: fmt.Sprint("signal:", h.IntN(1000)), Kind: posthouse.GateSignal, Signal: "say"}},
	})
	_, _ = h.by().Signal(h.Context(), "t", posthouse.Signal{Name: "say", Value: []byte(`"hello"`), By: "alice"})
	h.commit("main", ledger.Draft{Steps: []posthouse.Step{h.step()}, Checkpoint: &posthouse.Change{Kind: posthouse.KindEvent, Status: posthouse.StatusRunning}})
}

// heads returns the heads of the thread's branches, as the store has them.
func (h *keptHistory) heads() (all []*posthouse.Header) {
	info, err := h.there.Thread(h.Context(), "t")
	if err != nil {
		return nil
	}
	for _, b := range info.Branches {
		if head, err := ledger.HeadOf(h.Context(), h.there, info, b); err == nil {
			all = append(all, head)
		}
	}
	return all
}

func (h *keptHistory) head() *posthouse.Header {
	all := h.heads()
	if len(all) == 0 {
		return nil
	}
	return all[h.IntN(len(all))]
}

func (h *keptHistory) act() {
	h.now.Add(int64(h.IntN(100)))
	if h.IntN(3) > 0 {
		h.add()
		return
	}
	acts := []struct {
		name string
		run  func(ctx context.Context, head *posthouse.Header)
	}{
		{"decide", h.decide}, {"fork", h.fork}, {"update", h.update}, {"revise", h.revise}, {"restart", h.restart},
		{"delete", h.deleteOne}, {"retain", h.retain}, {"gone", h.gone}, {"release", h.releaseThread}, {"lease", h.lease}, {"step", h.end},
	}
	a := acts[h.IntN(len(acts))]
	h.did = append(h.did, a.name)
	if head := h.head(); head != nil {
		was, _ := h.there.Thread(h.Context(), "t")
		h.during(a.run, head)
		is, _ := h.there.Thread(h.Context(), "t")
		if was != nil && is != nil && was.Tail != is.Tail {
			h.moved[a.name]++
		}
	} else {
		h.begin()
	}
}

// during runs an act while the run has the thread, or while nobody has.
func (h *keptHistory) during(act func(context.Context, *posthouse.Header), head *posthouse.Header) {
	if h.IntN(2) == 0 {
		h.release()
	}
	act(h.Context(), head)
	if h.claim == nil {
		h.lease(h.Context(), head)
	}
}

// add adds to what is on record of the step.
func (h *keptHistory) add() {
	switch h.IntN(6) {
	case 0:
		h.did = append(h.did, "steps")
		branch := "main"
		if head := h.head(); head != nil {
			branch = head.Branch
		}
		h.commit(branch, ledger.Draft{Steps: []posthouse.Step{h.step(), h.step()}})
	case 1:
		h.did = append(h.did, "fail")
		h.commit("main", ledger.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindFail, Status: posthouse.StatusFailed}, KeepOpen: true})
	case 2:
		h.did = append(h.did, "ask")
		h.commit("main", ledger.Draft{
			Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, KeepOpen: h.IntN(2) == 0,
			Gates: []posthouse.Gate{
				{Task: "1/n", Name: "ok?", Occurrence: uint32(h.IntN(3)), Payload: []byte(`{"n":1}`)},
				{Task: "1/n", Name: "votes", Occurrence: uint32(h.IntN(50)), Quorum: &posthouse.Quorum{Need: 2, Of: 3}},
			},
		})
	default:
		h.turn()
	}
}

func (h *keptHistory) decide(ctx context.Context, head *posthouse.Header) {
	for g, err := range h.by().Gates(ctx, ledger.GateQuery{Thread: "t", All: true}) {
		if err != nil || h.IntN(2) == 0 {
			continue
		}
		_, _ = h.by().Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: fmt.Sprint("person", h.IntN(4))})
	}
}

func (h *keptHistory) fork(ctx context.Context, head *posthouse.Header) {
	_, _ = h.by().Fork(ctx, h.any(ctx, head).ID, &ledger.ForkOptions{Branch: fmt.Sprint("side-", h.IntN(2))})
}

// any returns any checkpoint of the thread.
func (h *keptHistory) any(ctx context.Context, head *posthouse.Header) *posthouse.Header {
	for c, err := range h.there.List(ctx, posthouse.Query{Thread: "t"}) {
		if err == nil && h.IntN(8) == 0 {
			return c
		}
	}
	return head
}

func (h *keptHistory) update(ctx context.Context, head *posthouse.Header) {
	h.commit(head.Branch, ledger.Draft{Checkpoint: &posthouse.Change{
		Kind: posthouse.KindUpdate, Status: posthouse.StatusReady, Parts: []posthouse.Part{{Name: "a", Codec: "json", Data: fmt.Append(nil, h.IntN(9))}},
	}, KeepOpen: h.IntN(2) == 0})
}

func (h *keptHistory) revise(ctx context.Context, head *posthouse.Header) {
	l := h.by()
	c, err := l.Get(ctx, head.ID)
	if err != nil {
		return
	}
	if h.IntN(2) == 0 {
		c = c.Derive(c.State)
	}
	c.State = posthouse.State{"a": {Codec: "json", Data: fmt.Append(nil, h.IntN(9))}}
	_, _ = l.Save(ctx, c, &ledger.SaveOptions{Replace: true})
}

func (h *keptHistory) restart(ctx context.Context, head *posthouse.Header) {
	_, _ = h.by().RestartStep(ctx, head.ID, nil)
}

func (h *keptHistory) deleteOne(ctx context.Context, head *posthouse.Header) {
	if h.IntN(2) == 0 {
		head = h.any(ctx, head)
	}
	_, _ = retain.Delete(ctx, h.by(), head.ID, nil)
}

func (h *keptHistory) retain(ctx context.Context, head *posthouse.Header) {
	_, _ = retain.Run(ctx, h.by(), retain.Policy{MaxPerThread: 5 + h.IntN(20)}, nil)
	_, _ = retain.Compact(ctx, h.by())
}

// gone removes the thread in one of three ways, and begins another of its name.
func (h *keptHistory) gone(ctx context.Context, head *posthouse.Header) {
	if h.IntN(4) > 0 {
		return
	}
	h.release()
	if h.IntN(2) == 0 {
		_, _ = h.raw.Remove(ctx, posthouse.Removal{Thread: "t", All: true})
	} else {
		_, _ = retain.DeleteThread(ctx, h.by(), "t", nil)
	}
	h.begin()
	for range 12 {
		h.turn()
	}
}

func (h *keptHistory) releaseThread(ctx context.Context, head *posthouse.Header) {
	if h.IntN(4) > 0 {
		return
	}
	h.release()
	_, _ = h.by().Release(ctx, "t", nil)
	h.begin()
}

func (h *keptHistory) lease(ctx context.Context, head *posthouse.Header) {
	h.release()
	if claim, err := h.here.Claim(ctx, "t", "run"); err == nil {
		h.claim = claim
	}
}

// end ends the step.
func (h *keptHistory) end(ctx context.Context, head *posthouse.Header) {
	h.commit(head.Branch, ledger.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning}, Steps: []posthouse.Step{h.step()}})
	for range h.IntN(12) {
		h.turn()
	}
}

// compare compares the executions of each branch with those that are read from the beginning.
func (h *keptHistory) compare() {
	h.Helper()
	heads := h.heads()
	if len(heads) > 0 && h.IntN(4) == 0 { // a run that does not know yet that the branch went on
		heads = append(heads, h.any(h.Context(), heads[0]))
	}
	for _, head := range heads {
		ctx := h.Context()
		cold := must.Get(ledger.Open(h.raw, nil))(h)
		want, failed := cold.Core().ReadExecutions(ctx, head)
		before := h.store.N
		got, err := h.here.Core().Executions(ctx, head)
		if (err == nil) != (failed == nil) {
			h.Fatalf("seed %d, branch %s: kept: %v, read: %v; after %v", h.seed, head.Branch, err, failed, h.did)
		}
		if err != nil {
			continue
		}
		if a, b := textOfExecutions(h, got), textOfExecutions(h, want); a != b {
			h.Fatalf("seed %d, branch %s, after %v\nkept: %s\nread: %s", h.seed, head.Branch, h.did, a, b)
		}
		if x := want["1/n"]; x != nil && len(x.Gates) > 10 && h.store.N-before < len(x.Gates) {
			h.kept++
		}
		writeOver(got)
	}
}

func textOfExecutions(h *keptHistory, all map[string]*threadlog.Execution) string {
	h.Helper()
	type gate struct {
		*posthouse.Gate
		Kept   posthouse.GateRecord
		Before int
	}
	out := map[string]any{}
	for task, x := range all {
		gates := make([]gate, 0, len(x.Gates))
		for _, g := range x.Gates {
			gates = append(gates, gate{g, g.Record, x.StepsBefore(g.ID)})
		}
		out[task] = map[string]any{"steps": append([]posthouse.StepRecord{}, x.Steps...), "gates": gates, "edited": x.Edited}
	}
	return string(must.Get(json.Marshal(out))(h))
}

// writeOver changes what a caller may change.
func writeOver(all map[string]*threadlog.Execution) {
	for task, x := range all {
		for i := range x.Steps {
			clear(x.Steps[i].Value.Data)
			x.Steps[i].Unordered = true
		}
		for _, g := range x.Gates {
			if g.Decision != nil {
				clear(g.Decision.Value)
				g.Decision.By = "somebody else"
				g.Decision = nil
			}
			clear(g.Payload)
			g.Votes = append(g.Votes, posthouse.Decision{By: "nobody"})
			g.Name = "another"
		}
		x.Steps = append(x.Steps, posthouse.StepRecord{})
		x.RestartStep()
		clear(x.Before)
		delete(all, task)
	}
}
