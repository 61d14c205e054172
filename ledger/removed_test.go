package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// askedThread runs a thread to a question, with a step recorded before it.
func askedThread(t *testing.T, l *ledger.Ledger) (root *posthouse.Header, wait *posthouse.Committed) {
	t.Helper()
	ctx := context.Background()
	first := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Parts: []posthouse.Part{{Name: "a", Data: []byte(`1`)}},
	}}))(t)
	must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Steps: []posthouse.Step{
		{Task: "2/n", Name: "llm", Value: posthouse.Value{Codec: "json", Data: []byte(`"paid for"`)}},
	}}))(t)
	wait = must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t",
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
		Gates:      []posthouse.Gate{{Name: "ok", Task: "2/n"}},
	}))(t)
	return first.Checkpoint, wait
}

// TestDeletedWaitIsForgottenByItsExecution deletes the checkpoint a thread
// waits at: its question and the steps that led to it are gone, so the execution
// starts over instead of replaying records without content.
func TestDeletedWaitIsForgottenByItsExecution(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	root, wait := askedThread(t, l)
	before := must.Get(l.Core().Executions(ctx, wait.Checkpoint))(t)["2/n"]
	if len(before.Steps) != 1 || len(before.Gates) != 1 {
		t.Fatalf("%d steps and %d gates on record, want one of each", len(before.Steps), len(before.Gates))
	}
	must.Get(retain.Delete(ctx, l, wait.Checkpoint.ID, nil))(t)
	if after := must.Get(l.Core().Executions(ctx, root))(t); len(after) != 0 {
		t.Errorf("%d executions are replayed without their content", len(after))
	}
	for _, o := range []*ledger.ForkOptions{{Branch: "side"}, {Thread: "other"}} {
		must.Get(l.Fork(ctx, root.ID, o))(t)
	}
}

// TestGateGoesWithItsCheckpoint deletes a checkpoint with a decided question.
func TestGateGoesWithItsCheckpoint(t *testing.T) {
	ctx, store := context.Background(), memstore.New()
	l := must.Get(ledger.Open(store, nil))(t)
	_, wait := askedThread(t, l)
	id := wait.Gates[0].ID
	must.Get(l.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	must.Get(retain.Delete(ctx, l, wait.Checkpoint.ID, nil))(t)
	if _, err := l.Gate(ctx, id); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("the gate: %v, want ErrNotFound", err)
	}
	if _, err := l.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Reject, By: "bob"}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("deciding it: %v, want ErrNotFound", err)
	}
}

// TestLostBodyIsNoRemoval has a store lose a recorded result: that must not
// look like one that was never recorded.
func TestLostBodyIsNoRemoval(t *testing.T) {
	ctx, store := context.Background(), memstore.New()
	l := must.Get(ledger.Open(store, nil))(t)
	_, wait := askedThread(t, l)
	must.Get(store.Remove(ctx, posthouse.Removal{Thread: "t", Bodies: []posthouse.BodyRef{{Seq: 2}}}))(t)
	if _, err := executionOf(ctx, l, wait.Checkpoint, "2/n"); !errors.Is(err, posthouse.ErrCorrupt) {
		t.Errorf("a step without its body: %v, want ErrCorrupt", err)
	}
	if _, err := l.Fork(ctx, wait.Checkpoint.ID, &ledger.ForkOptions{Thread: "other"}); !errors.Is(err, posthouse.ErrCorrupt) {
		t.Errorf("a fork of it: %v, want ErrCorrupt", err)
	}
}

// TestCompactAttestsWhatItTakes evicts checkpoints. Their bodies go at the next
// compaction: each body that is not there is listed by a removal record.
func TestCompactAttestsWhatItTakes(t *testing.T) {
	ctx, store := context.Background(), memstore.New()
	l := must.Get(ledger.Open(store, &ledger.Options{MaxCheckpoints: 3}))(t)
	c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, "state 0")), nil))(t)
	for range 6 {
		c = must.Get(l.Save(ctx, c.Derive(opaque(t, "another state")), nil))(t)
	}
	for range 2 { // the second finds nothing more to take
		if _, err := retain.Compact(ctx, l); err != nil && !errors.Is(err, posthouse.ErrUnsupported) {
			t.Fatal(err)
		}
	}
	listed, gone, removals := map[posthouse.BodyRef]bool{}, 0, 0
	var missing []posthouse.BodyRef
	for e, err := range store.Read(ctx, "t", posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range must.Get(e.Records())(t) {
			ref := posthouse.BodyRef{Seq: e.Seq, Record: i}
			if r.Size > 0 && len(e.Bodies[i]) == 0 {
				missing = append(missing, ref)
				gone++
			}
			if r.Removal != nil {
				var list posthouse.RemovedList
				if err := json.Unmarshal(e.Bodies[i], &list); err != nil {
					t.Fatal(err)
				}
				for _, b := range list.Bodies {
					listed[b] = true
				}
				if len(list.Bodies) > 0 {
					removals++
				}
			}
		}
	}
	for _, ref := range missing {
		if !listed[ref] {
			t.Errorf("body %v is gone and no removal lists it", ref)
		}
	}
	if gone == 0 || removals != 1 {
		t.Errorf("%d bodies are gone, listed by %d records; want some, by one", gone, removals)
	}
	must.Get(l.Get(ctx, c.ID))(t)
}

// TestCompactLeavesARunningThread has another process run the thread: what its
// log does not list yet stays until the run is over.
func TestCompactLeavesARunningThread(t *testing.T) {
	ctx, store := context.Background(), memstore.New()
	l := must.Get(ledger.Open(store, &ledger.Options{MaxCheckpoints: 2, Owner: "here"}))(t)
	c := must.Get(l.Save(ctx, posthouse.Root("t", opaque(t, "state 0")), nil))(t)
	for i := range 4 {
		c = must.Get(l.Save(ctx, c.Derive(opaque(t, i)), nil))(t)
	}
	other := must.Get(ledger.Open(store, &ledger.Options{Owner: "there"}))(t)
	claim := must.Get(other.Claim(ctx, "t", "run-1"))(t)
	must.Get(other.Commit(ctx, &ledger.Draft{Thread: "t", Claim: claim, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusRunning, State: opaque(t, "run"),
	}}))(t)
	bodies := func() (n int) {
		for e, err := range store.Read(ctx, "t", posthouse.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range must.Get(e.Records())(t) {
				if r.Checkpoint != nil && len(e.Bodies[i]) > 0 {
					n++
				}
			}
		}
		return n
	}
	compact := func() {
		t.Helper()
		if _, err := retain.Compact(ctx, l); err != nil && !errors.Is(err, posthouse.ErrUnsupported) {
			t.Fatal(err)
		}
	}
	before := bodies()
	compact()
	if n := bodies(); n != before {
		t.Errorf("%d bodies went without a record", before-n)
	}
	if err := claim.Release(ctx); err != nil {
		t.Fatal(err)
	}
	compact()
	if n := bodies(); n >= before {
		t.Errorf("%d bodies before, %d after the run was over", before, n)
	}
}

// executionOf returns what is on record of one task at a branch's head.
func executionOf(ctx context.Context, l *ledger.Ledger, head *posthouse.Header, task string) (*ledger.Execution, error) {
	all, err := ledger.Executions(ctx, l, head)
	if x := all[task]; x != nil || err != nil {
		return x, err
	}
	return &ledger.Execution{}, nil
}
