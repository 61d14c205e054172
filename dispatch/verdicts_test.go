package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// TestRepeatedVerdictIsRecordedOnce, in whatever form its JSON is, and whatever it made of the task.
// Another verdict is refused.
func TestRepeatedVerdictIsRecordedOnce(t *testing.T) {
	q := posthouse.Gate{Name: "ship", Kind: posthouse.GateApproval, Text: "Ship it?"}
	tried := map[task.Action]bool{task.Abandon: true} // which leaves nothing on record
	for name, v := range map[string]task.Verdict{
		"complete with spaces": {Action: task.Complete, Output: json.RawMessage(`{ "b": 1.0, "a": [ 1 , 2 ] }`)},
		"complete with marks":  {Action: task.Complete, Output: json.RawMessage(`"a <b> & \u003c \/ ` + "\u2028" + `"`)},
		"complete":             {Action: task.Complete},
		"continue":             {Action: task.Continue, Output: json.RawMessage(`{ "n": "<1>" }`)},
		"fail":                 {Action: task.Fail, Reason: "no route"},
		"fail for good":        {Action: task.FailPermanent, Reason: "no such page"},
		"unknown":              {Action: task.Unknown, Reason: "no answer from the bank"},
		"retry":                {Action: task.RetryAfter, Reason: "too many", Delay: time.Minute},
		"pause":                {Action: task.Pause, Name: "cool down", Delay: time.Minute},
		"await":                {Action: task.Await, Waits: []task.Wait{{Question: &q}}},
	} {
		tried[v.Action] = true
		synctest.Test(t, func(t *testing.T) { wantOnce(t, name, posthouse.TaskLimits{}, v) })
	}
	for _, a := range task.Actions() {
		if !tried[a] {
			t.Errorf("no verdict with the action %s is repeated here", a)
		}
	}
	last := task.Verdict{Action: task.Continue, Output: json.RawMessage("1")}
	synctest.Test(t, func(t *testing.T) { wantOnce(t, "the last iteration", posthouse.TaskLimits{Iterations: 1}, last) })
	synctest.Test(t, func(t *testing.T) {
		wantOnce(t, "the end of its time", posthouse.TaskLimits{Duration: time.Nanosecond}, last)
	})
	synctest.Test(t, func(t *testing.T) {
		wantOnce(t, "the last attempt", posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 1}}, task.Verdict{Action: task.Fail, Reason: "no route"})
	})
}

func wantOnce(t *testing.T, name string, limits posthouse.TaskLimits, v task.Verdict) {
	h := newHost(t, memstore.New(), runs.RemoteOptions{Limits: limits})
	h.run("t")
	w := h.connect("w1")
	c := h.claim(w)
	<-time.After(time.Millisecond) // longer than a duration of a nanosecond
	var tail uint64
	for i := range 3 {
		given := v
		given.Output = append(json.RawMessage(nil), v.Output...)
		if err := h.d.Resolve(t.Context(), c.ID, given); err != nil {
			t.Errorf("%s, time %d: %v", name, i+1, err)
		}
		info, err := h.l.Thread(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && info.Tail.Seq != tail {
			t.Errorf("%s, time %d: %d entries more", name, i+1, info.Tail.Seq-tail)
		}
		tail = info.Tail.Seq
	}
	for _, other := range []task.Verdict{
		{Action: task.Complete, Output: json.RawMessage(`"other"`)}, {Action: task.FailPermanent, Reason: "other"}, {Action: task.Pause, Name: "other", Delay: time.Minute},
		{Action: task.Abandon},
	} {
		if err := h.d.Resolve(t.Context(), c.ID, other); !errors.Is(err, posthouse.ErrConflict) {
			t.Errorf("%s, then %s: %v", name, other.Action, err)
		}
	}
}

// TestALargeOutputOnRecord is refused by the size that it has there.
func TestALargeOutputOnRecord(t *testing.T) {
	v := task.Verdict{Action: task.Complete, Output: json.RawMessage(`"` + strings.Repeat("<", task.MaxOutput/2) + `"`)}
	if err := v.Check(); !errors.Is(err, posthouse.ErrTooLarge) {
		t.Errorf("Check: error %v", err)
	}
	v = task.Verdict{Action: task.Complete, Output: json.RawMessage(strings.Repeat(" ", task.MaxOutput) + "1")}
	if err := v.Check(); err != nil || string(v.Output) != "1" {
		t.Errorf("Check: %.20s, error %v", v.Output, err)
	}
}

// A closedStore cannot be reached while it is closed.
type closedStore struct {
	posthouse.Store
	closed atomic.Bool
}

func (s *closedStore) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if s.closed.Load() {
		return posthouse.Slot{}, &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "away"}
	}
	return s.Store.Slot(ctx, key, op)
}

// TestVerdictWhileTheStoreIsAway: the claim is not lost.
func TestVerdictWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &closedStore{Store: memstore.New()}
		h := newHost(t, store, runs.RemoteOptions{})
		h.run("t")
		c := h.claim(h.connect("w1"))
		v := task.Verdict{Action: task.Complete, Output: json.RawMessage("1")}
		h.resolve(c, v)
		store.closed.Store(true)
		if err := h.d.Resolve(t.Context(), c.ID, v); !errors.Is(err, posthouse.ErrUnavailable) {
			t.Errorf("Resolve: error %v", err)
		}
		store.closed.Store(false)
		h.resolve(c, v)
	})
}

// A deafStore does not answer for workers while it is deaf.
type deafStore struct {
	posthouse.Store
	deaf atomic.Bool
}

func (s *deafStore) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if s.deaf.Load() && key.Thread == posthouse.ProcessThread {
		return posthouse.Slot{}, &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "away"}
	}
	return s.Store.Slot(ctx, key, op)
}

// TestAClaimIsNotLostWhileItsWorkerCannotBeLookedFor: an engine that has not met the worker
// takes the verdict once the store answers.
func TestAClaimIsNotLostWhileItsWorkerCannotBeLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &deafStore{Store: memstore.New()}
		a, b := newHost(t, store.Store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		a.run("t")
		c := a.claim(a.connect("w1"))
		v := task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)}
		store.deaf.Store(true)
		if err := b.d.Save(t.Context(), c.ID, 1, []byte("x")); !errors.Is(err, posthouse.ErrUnavailable) {
			t.Errorf("a slot: %v", err)
		}
		if err := b.d.Resolve(t.Context(), c.ID, v); !errors.Is(err, posthouse.ErrUnavailable) {
			t.Errorf("a verdict: %v", err)
		}
		store.deaf.Store(false)
		b.resolve(c, v)
		b.wantOutput("t", "page")
	})
}
