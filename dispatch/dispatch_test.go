package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// A host is an engine: a ledger, a program that has one step, a task, and a Dispatcher.
type host struct {
	*testing.T
	l    *ledger.Ledger
	d    *dispatch.Dispatcher
	app  *flow.App[string, string]
	have map[string][]task.ClaimID // by session
	stop func()                    // ends the engine before the test does
}

// newHost starts one over a store, which others may have open, too.
func newHost(t *testing.T, store posthouse.Store, o runs.RemoteOptions) *host {
	t.Helper()
	return newHostWith(t, store, nil, o)
}

func newHostWith(t *testing.T, store posthouse.Store, lo *ledger.Options, o runs.RemoteOptions) *host {
	t.Helper()
	l, err := ledger.Open(store, lo)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{T: t, l: l, have: map[string][]task.ClaimID{}}
	f := flow.New("fetch", func(ctx context.Context, url string) (string, error) {
		out, err := step.RemoteWith[any](ctx, "get", "fetch", url, o) // tests send all kinds of output
		page, _ := out.(string)
		return page, err
	})
	h.app, err = f.Open(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.d, err = dispatch.New(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.d.Run(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(h.stop)
	return h
}

func (h *host) run(thread string) {
	h.Helper()
	res, err := h.app.Run(h.Context(), thread, "http://x")
	if err != nil || res.Status != posthouse.StatusWaiting {
		h.Fatalf("Run: %+v, error %v", res, err)
	}
}

func (h *host) connect(name string) string { return h.connectFor(name, 1) }

// connectFor connects a worker for so many tasks at once.
func (h *host) connectFor(name string, atOnce int) string {
	h.Helper()
	s, err := h.d.Connect(h.Context(), task.Hello{Protocol: task.Protocol, Worker: name, Tasks: []string{"fetch"}, Concurrency: atOnce})
	if err != nil {
		h.Fatal(err)
	}
	return s.ID
}

// claim claims a task while the session sends heartbeats.
func (h *host) claim(session string) *task.Claim {
	h.Helper()
	for begun := time.Now(); ; {
		if time.Since(begun) > 2*time.Hour {
			h.Fatal("no task comes")
		}
		ctx, cancel := context.WithTimeout(h.Context(), time.Second)
		c, err := h.d.Claim(ctx, session)
		cancel()
		if c != nil {
			h.have[session] = append(h.have[session], c.ID)
			return c
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			h.Fatal(err)
		}
		h.heartbeat(session)
	}
}

func (h *host) heartbeat(session string) *task.Pulse {
	h.Helper()
	p, err := h.d.Heartbeat(h.Context(), session, h.have[session])
	if err != nil {
		h.Fatal(err)
	}
	return p
}

func (h *host) resolve(c *task.Claim, v task.Verdict) {
	h.Helper()
	if err := h.d.Resolve(h.Context(), c.ID, v); err != nil {
		h.Fatal(err)
	}
	for session, have := range h.have {
		h.have[session] = slices.DeleteFunc(slices.Clone(have), func(id task.ClaimID) bool { return id == c.ID })
	}
}

// wantLost checks that nothing counts that a claim still does.
func (h *host) wantLost(c *task.Claim) {
	h.Helper()
	for what, err := range map[string]error{
		"Save":    h.d.Save(h.Context(), c.ID, 0, []byte("late")),
		"Resolve": h.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"late"`)}),
		"Stream":  h.d.Stream(h.Context(), c.ID, json.RawMessage("1")),
		"Signal":  h.d.Signal(h.Context(), c.ID, c.Thread, posthouse.Signal{Name: "x", Value: json.RawMessage("1")}),
	} {
		if !errors.Is(err, posthouse.ErrConflict) {
			h.Errorf("%s of a lost claim: %v", what, err)
		}
	}
}

func (h *host) wantOutput(thread, want string) {
	h.Helper()
	res, err := h.app.Resume(h.Context(), thread)
	if err != nil || res.Output != want {
		h.Errorf("Resume: %+v, error %v", res, err)
	}
}

func TestATaskIsClaimedAndCompleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{Trace: map[string]string{"traceparent": "00-1"}})
		w := h.connect("w1")
		h.run("t")
		c := h.claim(w)
		if c.Thread != "t" || c.Task != "fetch" || string(c.Input) != `"http://x"` || c.Attempt != 1 || c.Iteration != 0 || c.Step == "" || c.Trace["traceparent"] == "" {
			t.Errorf("claim: %+v", c)
		}
		if v, err := h.d.Load(t.Context(), c.ID); err != nil || v != nil {
			t.Errorf("Load: %q, error %v", v, err)
		}
		for _, v := range []string{"73", ""} {
			if err := h.d.Save(t.Context(), c.ID, 0, []byte(v)); err != nil {
				t.Error(err)
			}
			if have, err := h.d.Load(t.Context(), c.ID); err != nil || have == nil || string(have) != v {
				t.Errorf("records: %q, error %v", have, err)
			}
		}
		done := task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)}
		h.resolve(c, done)
		h.resolve(c, done) // its answer was lost
		h.wantLost(c)
		h.wantOutput("t", "page")
	})
}

// TestASilentWorkersTaskGoesToAnother: with what was saved, within the lease and a look.
func TestASilentWorkersTaskGoesToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		first := h.connect("w1")
		h.run("t")
		c := h.claim(first)
		if err := h.d.Save(t.Context(), c.ID, 0, []byte("73 of 100")); err != nil {
			t.Fatal(err)
		}
		silent := time.Now()
		second := h.connect("w2")
		again := h.claim(second)
		if d := time.Since(silent); d > 5*time.Second {
			t.Errorf("it took %s", d)
		}
		if again.Attempt != 2 || again.Call != c.Call || again.Step != c.Step || again.ID.Fence <= c.ID.Fence || again.Failure == "" {
			t.Errorf("claim: %+v", again)
		}
		h.wantLost(c)
		if v, err := h.d.Load(t.Context(), again.ID); err != nil || string(v) != "73 of 100" {
			t.Errorf("Load: %q, error %v", v, err)
		}
		if _, err := h.d.Heartbeat(t.Context(), first, nil); !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("a session that is over: %v", err)
		}
		h.resolve(again, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		h.wantOutput("t", "page")
	})
}

// TestPausesAndIterations: they cost no attempt, keep the slot and wait as long as they are to.
func TestPausesAndIterations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2}, Iterations: 2, LoopDelay: time.Minute}})
		w := h.connect("w1")
		h.run("t")
		c := h.claim(w)
		if err := h.d.Save(t.Context(), c.ID, 0, []byte("mine")); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			begun := time.Now()
			h.resolve(c, task.Verdict{Action: task.Pause, Name: "cool down", Delay: time.Hour})
			c = h.claim(w)
			if d := time.Since(begun); d < time.Hour || d > time.Hour+2*time.Second || c.Paused != "cool down" || c.Attempt != 1 {
				t.Fatalf("after %s: %+v", d, c)
			}
		}
		begun := time.Now()
		h.resolve(c, task.Verdict{Action: task.Continue, Output: json.RawMessage(`{"n":1}`)})
		c = h.claim(w)
		if d := time.Since(begun); d < time.Minute || c.Iteration != 1 || string(c.Continued) != `{"n":1}` || string(c.Input) != `"http://x"` || c.Paused != "" {
			t.Fatalf("after %s: %+v", d, c)
		}
		if v, err := h.d.Load(t.Context(), c.ID); err != nil || string(v) != "mine" {
			t.Errorf("Load: %q, error %v", v, err)
		}
		h.resolve(c, task.Verdict{Action: task.Continue})
		_, err := h.app.Resume(t.Context(), "t")
		var failed *runs.RemoteError
		if !errors.As(err, &failed) {
			t.Errorf("a third iteration of two: %v", err)
		}
	})
}

func TestAttemptsRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{Limits: posthouse.TaskLimits{Timeout: 10 * time.Second}})
		w := h.connect("w1")
		h.run("t")
		c := h.claim(w)
		begun := time.Now()
		h.resolve(c, task.Verdict{Action: task.RetryAfter, Reason: "too many requests", Delay: 100 * time.Hour})
		c = h.claim(w)
		if d := time.Since(begun); d < time.Hour || d > time.Hour+2*time.Second || c.Attempt != 2 || c.Failure != "too many requests" {
			t.Fatalf("after %s: %+v", d, c)
		}
		for begun = time.Now(); len(h.heartbeat(w).Lost) == 0; { // a handler that hangs
			if time.Sleep(time.Second); time.Since(begun) > time.Minute {
				t.Fatal("the attempt goes on")
			}
		}
		h.wantLost(c)
		c = h.claim(w)
		h.resolve(c, task.Verdict{Action: task.Fail, Reason: "no route"})
		_, err := h.app.Resume(t.Context(), "t")
		var failed *runs.RemoteError
		if !errors.As(err, &failed) || failed.Attempts != 3 || failed.Reason != "no route" || failed.Worker != "worker:w1" {
			t.Errorf("Resume: error %v", err)
		}
	})
}

// TestCancelledTaskIsLost: its worker hears of it.
func TestCancelledTaskIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		w := h.connect("w1")
		h.run("t")
		c := h.claim(w)
		if _, err := h.l.Cancel(t.Context(), "t", &ledger.CancelOptions{By: "alice"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if p := h.heartbeat(w); len(p.Lost) != 1 || p.Lost[0] != c.ID {
			t.Errorf("heartbeat: %+v", p)
		}
		h.wantLost(c)
	})
}

// TestDisconnectFreesClaims: others have the tasks at once, and it costs no attempt.
func TestDisconnectFreesClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		first, second := h.connect("w1"), h.connect("w2")
		h.run("t")
		c := h.claim(first)
		begun := time.Now()
		if err := h.d.Disconnect(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		again := h.claim(second)
		if again.Attempt != 1 || time.Since(begun) > time.Second {
			t.Errorf("after %s: %+v", time.Since(begun), again)
		}
		h.wantLost(c)
	})
}

// TestSessionContinuesAtAnotherEngine, with the worker's claim.
func TestSessionContinuesAtAnotherEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		c := a.claim(w)
		other := b.connect("w2")
		b.have[w] = a.have[w]
		for range 20 { // a is gone; b hears of w
			time.Sleep(time.Second)
			b.heartbeat(w)
			b.heartbeat(other)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if c, err := b.d.Claim(ctx, other); c != nil {
				t.Fatalf("a claim that is alive was given away: %+v, %v", c, err)
			}
			cancel()
		}
		if err := b.d.Save(t.Context(), c.ID, 0, []byte("x")); err != nil {
			t.Error(err)
		}
		b.resolve(c, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		b.wantOutput("t", "page")
	})
}

// TestEnginesAtOnce: each task is claimed once.
func TestEnginesAtOnce(t *testing.T) {
	store := memstore.New()
	hosts := []*host{newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})}
	const n = 50
	for i := range n {
		hosts[i%2].run(fmt.Sprint("t", i))
	}
	var mu sync.Mutex
	claimed := map[string]int{}
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			h := hosts[i%2]
			w := h.connect(fmt.Sprint("w", i))
			for {
				mu.Lock()
				over := len(claimed) == n
				mu.Unlock()
				if over {
					return
				}
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				c, err := h.d.Claim(ctx, w)
				cancel()
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
					return
				}
				if _, err := h.d.Heartbeat(t.Context(), w, nil); err != nil {
					t.Error(err)
					return
				}
				if c == nil {
					continue
				}
				mu.Lock()
				claimed[c.Thread]++
				mu.Unlock()
				if err := h.d.Resolve(t.Context(), c.ID, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for thread, times := range claimed {
		if times != 1 {
			t.Errorf("%s was claimed %d times", thread, times)
		}
	}
	for i := range n {
		hosts[0].wantOutput(fmt.Sprint("t", i), "page")
	}
}

// TestUndeliveredClaimGoesToAnother: its answer was lost on the way to a worker that lives on.
func TestUndeliveredClaimGoesToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		w := h.connect("w1")
		h.run("t")
		lost := h.claim(w)
		h.have[w] = nil
		c := h.claim(w)
		if c.ID == lost.ID || c.Attempt != 1 {
			t.Errorf("claim: %+v", c)
		}
		h.wantLost(lost)
	})
}

// TestDamagedSlots: a byte that flips is found, and not given to a handler.
func TestDamagedSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		h := newHost(t, store, runs.RemoteOptions{})
		w := h.connect("w1")
		h.run("t")
		c := h.claim(w)
		if err := h.d.Save(t.Context(), c.ID, 0, []byte("73 of 100")); err != nil {
			t.Fatal(err)
		}
		key := posthouse.SlotKey{Thread: "t", Step: c.Step}
		whole, err := store.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotGet})
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole.Value {
			for _, damaged := range [][]byte{slices.Clone(whole.Value), whole.Value[:i]} {
				if len(damaged) > i {
					damaged[i] ^= 1 << (i % 8)
				}
				if _, err := store.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: damaged, Revision: posthouse.AnyRevision}); err != nil {
					t.Fatal(err)
				}
				if v, err := h.d.Load(t.Context(), c.ID); !errors.Is(err, posthouse.ErrCorrupt) {
					t.Fatalf("byte %d: %q, %v", i, v, err)
				}
			}
		}
		if err := h.d.Disconnect(t.Context(), w); !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("Disconnect: error %v", err)
		}
		h.run("other") // the damaged one does not stand in its way
		if c := h.claim(h.connect("w2")); c.Thread != "other" {
			t.Errorf("claim: %+v", c)
		}
	})
}

// TestMovedWorkerDies: the engine that it came from finds its claim, though the other one is
// gone as well.
func TestMovedWorkerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a := newHost(t, store, runs.RemoteOptions{})
		l, err := ledger.Open(store, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		b, err := dispatch.New(l, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := a.connect("w1")
		a.run("t")
		c := a.claim(w)
		for range 10 {
			time.Sleep(time.Second)
			if _, err := b.Heartbeat(t.Context(), w, a.have[w]); err != nil {
				t.Fatal(err)
			}
		}
		died := time.Now()
		if again := a.claim(a.connect("w2")); again.Attempt != 2 || time.Since(died) > 5*time.Second {
			t.Errorf("after %s: %+v", time.Since(died), again)
		}
		a.wantLost(c)
	})
}

// TestStreamsAtAnotherEngine: whether a chunk counts is asked of the claim, not of what an
// engine remembers.
func TestStreamsAtAnotherEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		c := a.claim(w)
		if err := b.d.Stream(t.Context(), c.ID, json.RawMessage("1")); err != nil {
			t.Errorf("at an engine that has not heard of it: %v", err)
		}
		if err := b.d.Disconnect(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		b.claim(b.connect("w2"))
		a.wantLost(c)
	})
}
