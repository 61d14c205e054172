package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// wantGone checks that nothing is left of a session in the store.
func wantGone(t *testing.T, store posthouse.Store, session string) {
	t.Helper()
	key := posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: session}
	if s, err := store.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotGet}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("session %s is at revision %d: %v", session, s.Revision, err)
	}
}

// TestDisconnectAtAnotherEngine that does not know the worker: its claims go to others at once and
// cost no attempt, and the engine that it comes from lets them have the tasks.
func TestDisconnectAtAnotherEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		c := a.claim(w)
		other := b.connect("w2")
		left := time.Now()
		for range 2 { // the first answer is lost
			if err := b.d.Disconnect(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		wantGone(t, store, w)
		again := b.claim(other)
		if d := time.Since(left); again.Attempt != 1 || again.ID.Gate != c.ID.Gate || d > time.Second {
			t.Errorf("after %s: %+v", d, again)
		}
		if _, err := a.d.Heartbeat(t.Context(), w, a.have[w]); !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("a heartbeat that comes late: %v", err)
		}
		wantGone(t, store, w)
		for range 10 {
			time.Sleep(time.Second)
			if p := b.heartbeat(other); len(p.Lost) > 0 {
				t.Fatalf("the next worker lost the task: %+v", p)
			}
		}
		a.wantLost(c)
		b.resolve(again, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		b.wantOutput("t", "page")
	})
}

// TestASessionEndedElsewhereIsNotSilent: the engine that it comes from neither counts it nor
// fails the attempt of the worker that has its task now.
func TestASessionEndedElsewhereIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		a.claim(w)
		waiting := a.claimLater(w)
		if err := b.d.Disconnect(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		other := b.connect("w2")
		again := b.claim(other)
		for range 10 {
			time.Sleep(time.Second)
			b.heartbeat(other)
		}
		if a := <-waiting; a.claim != nil || !errors.Is(a.err, posthouse.ErrNotFound) || a.after > 5*time.Second {
			t.Errorf("a claim that waits: %+v", a)
		}
		if g := a.d.Gauges(); g.Silent != 0 || g.Sessions != 0 {
			t.Errorf("gauges: %+v", g)
		}
		b.resolve(again, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		b.wantOutput("t", "page")
	})
}

// TestDeadSessionsLeaveNothing, whatever engine finds them silent.
func TestDeadSessionsLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		a.claim(w)
		a.stop() // with its worker
		other := b.connect("w2")
		if again := b.claim(other); again.Attempt != 2 {
			t.Errorf("claim: %+v", again)
		}
		wantGone(t, store, w)
		time.Sleep(10 * time.Second)
		wantGone(t, store, other)
		if g := b.d.Gauges(); g.Silent != 1 {
			t.Errorf("gauges: %+v", g)
		}
	})
}

// A slowStore stalls the next write of a liveness slot for a time, and can be closed.
type slowStore struct {
	closedStore
	stall atomic.Int64
}

func (s *slowStore) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if key.Thread == posthouse.ProcessThread && op.Verb == posthouse.SlotPut {
		<-time.After(time.Duration(s.stall.Swap(0)))
	}
	return s.closedStore.Slot(ctx, key, op)
}

// TestStalledHeartbeatFreesNothing that its worker was given while it stalled.
func TestStalledHeartbeatFreesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{closedStore: closedStore{Store: memstore.New()}}
		h := newHost(t, store, runs.RemoteOptions{})
		w := h.connect("w1")
		store.stall.Store(int64(8 * time.Second))
		stalled := make(chan error)
		go func() {
			_, err := h.d.Heartbeat(t.Context(), w, nil)
			stalled <- err
		}()
		synctest.Wait()
		h.run("t")
		c := h.claim(w)
		for range 9 {
			h.heartbeat(w)
			time.Sleep(time.Second)
		}
		if err := <-stalled; err != nil {
			t.Error(err)
		}
		if err := h.d.Save(t.Context(), c.ID, 1, []byte("x")); err != nil {
			t.Error(err)
		}
	})
}

// TestMovedWorkerIsNotSilent: neither is a worker silent if the store does not say whether it is.
func TestMovedWorkerIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{closedStore: closedStore{Store: memstore.New()}}
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, store.Store, runs.RemoteOptions{})
		w := a.connect("w1")
		for range 10 {
			time.Sleep(time.Second)
			b.heartbeat(w)
		}
		if g := a.d.Gauges(); g.Silent != 0 {
			t.Errorf("a worker that moved: %+v", g)
		}
		a.connect("w2")
		store.closed.Store(true)
		time.Sleep(10 * time.Second)
		if g := a.d.Gauges(); g.Silent != 0 || g.Sessions != 1 {
			t.Errorf("while the store is away: %+v", g)
		}
		store.closed.Store(false)
		time.Sleep(2 * time.Second)
		if g := a.d.Gauges(); g.Silent != 1 || g.Sessions != 0 {
			t.Errorf("a worker that is silent: %+v", g)
		}
	})
}

// A disturbed is a store that calls then before the next look for a session, and fails that look.
type disturbed struct {
	posthouse.Store
	then atomic.Pointer[func()]
}

// Slot implements [posthouse.Store].
func (s *disturbed) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if key.Thread != posthouse.ProcessThread || op.Verb != posthouse.SlotGet {
		return s.Store.Slot(ctx, key, op)
	}
	then := s.then.Swap(nil)
	if then == nil {
		return s.Store.Slot(ctx, key, op)
	}
	(*then)()
	return posthouse.Slot{}, &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the store is away"}
}

// TestSessionReturnsWhileItIsLookedFor: the look fails. Claims that the session was
// given since and never heard of go to others.
func TestSessionReturnsWhileItIsLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		late := &disturbed{Store: store}
		a, b := newHost(t, late, runs.RemoteOptions{}), newHost(t, store, runs.RemoteOptions{})
		w := a.connect("w1")
		for range 3 { // it has moved
			time.Sleep(500 * time.Millisecond)
			b.heartbeat(w)
		}
		a.run("t")
		given := make(chan *task.Claim, 1)
		then := func() { given <- a.claim(w) }
		late.then.Store(&then)
		for len(given) == 0 {
			time.Sleep(500 * time.Millisecond)
			b.heartbeat(w)
		}
		lost := <-given
		go beat(t.Context(), a.d, w)
		begun := time.Now()
		if c := a.claim(a.connect("w2")); c.Attempt != 1 || time.Since(begun) > 10*time.Second {
			t.Errorf("after %s: %+v", time.Since(begun), c)
		}
		a.wantLost(lost)
	})
}
