package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// A closing is a store that takes no entries while it is shut, and may lose the answers to
// writes of slots.
type closing struct {
	posthouse.Store
	shut, mute atomic.Bool
}

// Slot implements [posthouse.Store].
func (s *closing) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	slot, err := s.Store.Slot(ctx, key, op)
	if s.mute.Load() && op.Verb == posthouse.SlotPut && key.Thread != posthouse.ProcessThread {
		return posthouse.Slot{}, &posthouse.Error{Code: posthouse.CodeUnknown, Message: "the answer is lost"}
	}
	return slot, err
}

// Append implements [posthouse.Store].
func (s *closing) Append(ctx context.Context, b *posthouse.Batch) error {
	if s.shut.Load() {
		return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the store is away"}
	}
	return s.Store.Append(ctx, b)
}

// TestAttemptsEndWhenTheStoreIsBack: of a worker that died, and of one that took too long
// while the store took nothing.
func TestAttemptsEndWhenTheStoreIsBack(t *testing.T) {
	for name, alive := range map[string]bool{"dead": false, "late": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &closing{Store: memstore.New()}
				h := newHost(t, store, runs.RemoteOptions{Limits: posthouse.TaskLimits{Timeout: 5 * time.Second}})
				first, second := h.connect("w1"), h.connect("w2")
				h.run("t")
				c := h.claim(first)
				store.shut.Store(true)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if alive {
					go beat(ctx, h.d, first, c.ID)
				}
				for range 10 {
					time.Sleep(time.Second)
					h.heartbeat(second)
					ctx, cancel := context.WithTimeout(ctx, 700*time.Millisecond)
					if c, _ := h.d.Claim(ctx, second); c != nil {
						t.Fatalf("claim: %+v", c)
					}
					cancel()
				}
				store.shut.Store(false)
				back := time.Now()
				if again := h.claim(second); again.Attempt != 2 || time.Since(back) > 5*time.Second {
					t.Errorf("after %s: %+v", time.Since(back), again)
				}
				h.wantLost(c)
			})
		})
	}
}

// beat sends heartbeats for a worker.
func beat(ctx context.Context, d *dispatch.Dispatcher, session string, have ...task.ClaimID) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		_, _ = d.Heartbeat(ctx, session, have)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// TestUndeliveredClaimAtAnotherEngine: the worker never had the claim, lives on, and sends
// its heartbeats to another engine now.
func TestUndeliveredClaimAtAnotherEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		lost := a.claim(w)
		go beat(t.Context(), b.d, w)
		begun := time.Now()
		if c := b.claim(b.connect("w2")); c.Attempt != 1 || time.Since(begun) > 10*time.Second {
			t.Errorf("after %s: %+v", time.Since(begun), c)
		}
		a.wantLost(lost)
	})
}

// TestUndeliveredClaimAtAnIdleEngine: as above, and the engine that hears of the worker is asked for
// no tasks. The one that is asked finds a claim of a worker that is alive.
func TestUndeliveredClaimAtAnIdleEngine(t *testing.T) {
	for name, more := range map[string]bool{"the engine that gave it": false, "a third one": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
				w := a.connect("w1")
				a.run("t")
				lost := a.claim(w)
				go beat(t.Context(), b.d, w)
				asked := a
				if more {
					asked = newHost(t, store, runs.RemoteOptions{})
					a.stop()
				}
				begun := time.Now()
				if c := asked.claim(asked.connect("w2")); c.Attempt != 1 || time.Since(begun) > 20*time.Second {
					t.Errorf("after %s: %+v", time.Since(begun), c)
				}
				asked.wantLost(lost)
			})
		})
	}
}

// TestClaimIsFreedAfterAnUnknownWrite: the store has the claim, and its answer was lost.
func TestClaimIsFreedAfterAnUnknownWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &closing{Store: memstore.New()}
		h := newHost(t, store, runs.RemoteOptions{})
		w := h.connect("w1")
		go beat(t.Context(), h.d, w)
		h.run("t")
		store.mute.Store(true)
		if c, err := h.d.Claim(t.Context(), w); !errors.Is(err, posthouse.ErrUnknown) {
			t.Fatalf("Claim: %+v, error %v", c, err)
		}
		store.mute.Store(false)
		begun := time.Now()
		if c := h.claim(h.connect("w2")); c.Attempt != 1 || time.Since(begun) > 10*time.Second {
			t.Errorf("after %s: %+v", time.Since(begun), c)
		}
	})
}

// TestMovedWorkerKeepsItsClaim: a worker that has its claim keeps it at another engine, whoever asks
// for the task.
func TestMovedWorkerKeepsItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		c := a.claim(w)
		go beat(t.Context(), b.d, w, c.ID)
		for _, h := range []*host{a, b} {
			other := h.connect("w2")
			go beat(t.Context(), h.d, other)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			for ctx.Err() == nil {
				if again, err := h.d.Claim(ctx, other); again != nil {
					t.Errorf("Claim: %+v, error %v", again, err)
				}
			}
			cancel()
		}
		b.resolve(c, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		b.wantOutput("t", "page")
	})
}

// A meddling is a store where something happens before a task's slot is read, once.
type meddling struct {
	posthouse.Store
	then atomic.Pointer[func()]
}

// Slot implements [posthouse.Store].
func (s *meddling) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if key.Thread != posthouse.ProcessThread && op.Verb == posthouse.SlotGet {
		if then := s.then.Swap(nil); then != nil {
			(*then)()
		}
	}
	return s.Store.Slot(ctx, key, op)
}

// TestTaskIsResolvedWhileItIsClaimed: an engine has read the gate when another one records
// its verdict and gives the next iteration to a worker, which keeps it.
func TestTaskIsResolvedWhileItIsClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		late := &meddling{Store: store}
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, late, runs.RemoteOptions{})
		w, other := a.connect("w1"), b.connect("w2")
		a.run("t")
		var now *task.Claim
		goOn := func() {
			a.resolve(a.claim(w), task.Verdict{Action: task.Continue})
			now = a.claim(w)
		}
		late.then.Store(&goOn)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if c, _ := b.d.Claim(ctx, other); c != nil || now == nil || now.Iteration != 1 {
			t.Errorf("%+v, beside %+v", c, now)
		}
		if err := a.d.Save(t.Context(), now.ID, 0, []byte("x")); err != nil {
			t.Error(err)
		}
	})
}

// TestNewerClaimOfAnotherEngine: an engine that knows of it asks the store about a newer
// one, which another engine gave.
func TestNewerClaimOfAnotherEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		old := a.claim(w)
		if err := b.d.Save(t.Context(), old.ID, 1, []byte("old")); err != nil {
			t.Fatal(err)
		}
		if err := a.d.Disconnect(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		c := a.claim(a.connect("w2"))
		if err := b.d.Save(t.Context(), c.ID, 1, []byte("new")); err != nil || c.ID.Gate != old.ID.Gate {
			t.Errorf("Save: %+v: %v", c, err)
		}
		b.wantLost(old)
	})
}

// TestClaimOfAWorkerWithHeartbeatsElsewhere: it gets its task, because the worker lives.
func TestClaimOfAWorkerWithHeartbeatsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		go beat(t.Context(), b.d, w)
		handedOut := make(chan struct{})
		time.AfterFunc(10*time.Second, func() {
			defer close(handedOut)
			a.run("t")
		})
		c, err := a.d.Claim(t.Context(), w)
		<-handedOut
		if err != nil || c == nil {
			t.Fatalf("Claim: %+v, error %v", c, err)
		}
		if err := b.d.Save(t.Context(), c.ID, 1, []byte("x")); err != nil {
			t.Error(err)
		}
	})
}

// TestSavesOutOfOrder: one that comes after a later one does nothing, whatever engine it comes
// to; the next claim starts to count again.
func TestSavesOutOfOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		save := func(c *task.Claim, n uint64, want string) {
			t.Helper()
			for _, h := range []*host{a, b} {
				if err := h.d.Save(t.Context(), c.ID, n, fmt.Append(nil, n)); err != nil {
					t.Error(err)
				}
				if v, err := h.d.Load(t.Context(), c.ID); err != nil || string(v) != want {
					t.Errorf("%q, %v, want %s", v, err, want)
				}
			}
		}
		c := a.claim(w)
		save(c, 2, "2")
		save(c, 1, "2")
		save(c, 3, "3")
		a.resolve(c, task.Verdict{Action: task.Continue})
		save(a.claim(w), 1, "1")
	})
}

// TestResultsAreRecordedOnce: also when they come to several engines, or after a restart.
func TestResultsAreRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		c := a.claim(w)
		have, err := a.d.Records(t.Context(), c.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		record := func(h *host, name, value string) error {
			return h.d.Record(t.Context(), c.ID, task.StepResult{Name: have.Within + ">" + name, Value: posthouse.Value{Codec: "json", Data: []byte(value)}})
		}
		for _, name := range []string{"x", "y", "x"} {
			for _, h := range []*host{a, b, b, a} {
				if err := record(h, name, "1"); err != nil {
					t.Error(err)
				}
			}
		}
		for _, h := range []*host{a, b} {
			if err := record(h, "x", "2"); !errors.Is(err, posthouse.ErrExists) {
				t.Errorf("another result: %v", err)
			}
		}
		have, err = b.d.Records(t.Context(), c.ID, "")
		if err != nil || len(have.Steps) != 2 || string(have.Steps[0].Value.Data) != "1" {
			t.Errorf("records: %+v, error %v", have, err)
		}
		a.resolve(c, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		a.wantOutput("t", "page")
	})
}
