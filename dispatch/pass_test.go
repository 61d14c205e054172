package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// outside is the context of a call that comes with a pass for any task.
func (h *host) outside(name string) context.Context {
	return task.WithPass(h.Context(), &task.Pass{Name: name, Groups: []string{task.Any}, Tasks: []string{task.Any}})
}

// TestSessionsAndClaimsBelongToAToken: another token that knows both ids can use neither, and
// the name on record is the token's.
func TestSessionsAndClaimsBelongToAToken(t *testing.T) {
	for _, store := range stores(t) {
		synctest.Test(t, func(t *testing.T) {
			opened := store.open(t)
			a, b := newHost(t, opened, runs.RemoteOptions{}), newHost(t, opened, runs.RemoteOptions{})
			alice, mallory := a.outside("alice"), a.outside("mallory")
			s, err := a.d.Connect(alice, task.Hello{Protocol: task.Protocol, Worker: "ceo", Tasks: []string{"fetch"}, Concurrency: 1})
			if err != nil {
				t.Fatal(err)
			}
			a.run("t")
			c, err := a.d.Claim(alice, s.ID)
			if err != nil || c == nil {
				t.Fatalf("Claim: %+v, error %v", c, err)
			}
			for _, h := range []*host{b, a} {
				if _, err := h.d.Claim(mallory, s.ID); !errors.Is(err, posthouse.ErrNotFound) {
					t.Errorf("%s: a claim in another's session: %v", store.name, err)
				}
				if _, err := h.d.Heartbeat(mallory, s.ID, nil); !errors.Is(err, posthouse.ErrNotFound) {
					t.Errorf("%s: a heartbeat of another's session: %v", store.name, err)
				}
				if err := h.d.Disconnect(mallory, s.ID); err != nil {
					t.Errorf("Disconnect: %s: %v", store.name, err)
				}
				_ = h.d.Resolve(mallory, c.ID, task.Verdict{Action: task.Abandon}) // what follows says that it did nothing
				if err := h.d.Resolve(mallory, c.ID, task.Verdict{Action: task.Complete}); !errors.Is(err, posthouse.ErrConflict) {
					t.Errorf("%s: a verdict on another's claim: %v", store.name, err)
				}
				if err := h.d.Save(mallory, c.ID, 0, []byte("x")); !errors.Is(err, posthouse.ErrConflict) {
					t.Errorf("%s: a save to another's claim: %v", store.name, err)
				}
			}
			done := task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)}
			if err := b.d.Resolve(alice, c.ID, done); err != nil {
				t.Errorf("Resolve: %s: %v", store.name, err)
			}
			if err := a.d.Resolve(mallory, c.ID, done); !errors.Is(err, posthouse.ErrConflict) {
				t.Errorf("%s: the same verdict of another: %v", store.name, err)
			}
			g, err := a.l.Gate(t.Context(), c.ID.Gate)
			if err != nil || g.Decision.By != "worker:alice" {
				t.Errorf("Gate: %s: %+v, error %v", store.name, g.Decision, err)
			}
		})
	}
}

// TestPassesNameGroupsAndTasks: what a worker asks for beyond its pass is refused, also once the
// pass allows less.
func TestPassesNameGroupsAndTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{Group: "gpu"})
		hello := task.Hello{Protocol: task.Protocol, Worker: "w", Group: "gpu", Tasks: []string{"fetch"}, Concurrency: 1}
		for what, c := range map[string]struct {
			pass  task.Pass
			field string
		}{
			"no group":      {task.Pass{Name: "w", Tasks: []string{task.Any}}, "group"},
			"another group": {task.Pass{Name: "w", Groups: []string{"cpu"}, Tasks: []string{task.Any}}, "group"},
			"no task":       {task.Pass{Name: "w", Groups: []string{"gpu"}}, "task"},
			"another task":  {task.Pass{Name: "w", Groups: []string{"gpu"}, Tasks: []string{"pay"}}, "task"},
			"both":          {task.Pass{Name: "w", Groups: []string{"cpu", "gpu"}, Tasks: []string{"pay", "fetch"}}, ""},
		} {
			_, err := h.d.Connect(task.WithPass(t.Context(), &c.pass), hello)
			var e *posthouse.Error
			if c.field == "" && err != nil || c.field != "" && (!errors.As(err, &e) || e.Code != posthouse.CodeForbidden || e.Field != c.field || !strings.Contains(e.Hint, "token allow w --"+c.field)) {
				t.Errorf("%s: %v", what, err)
			}
		}
		s, err := h.d.Connect(h.outside("w"), hello)
		if err != nil {
			t.Fatal(err)
		}
		less := task.WithPass(t.Context(), &task.Pass{Name: "w", Tasks: []string{task.Any}})
		if _, err := h.d.Claim(less, s.ID); !errors.Is(err, posthouse.ErrForbidden) {
			t.Errorf("a claim by a pass that allows less than before: %v", err)
		}
	})
}

// TestSessionsAreBounded for each pass. A session that ends makes room at once.
func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		hello := task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"fetch"}, Concurrency: 1}
		var last string
		for i := range 2000 {
			s, err := h.d.Connect(h.outside("flood"), hello)
			if i < 1000 && err != nil || i >= 1000 && !errors.Is(err, posthouse.ErrBusy) {
				t.Fatalf("session %d: %v", i+1, err)
			}
			if s != nil {
				last = s.ID
			}
		}
		if _, err := h.d.Connect(h.outside("other"), hello); err != nil {
			t.Errorf("another's session: %v", err)
		}
		if err := h.d.Disconnect(h.outside("flood"), last); err != nil {
			t.Fatal(err)
		}
		wantGone(t, h.l.Store(), last)
		if _, err := h.d.Connect(h.outside("flood"), hello); err != nil {
			t.Errorf("a session in the place of one that ended: %v", err)
		}
		time.Sleep(10 * time.Second)
		if w, err := h.d.Workers(t.Context()); err != nil || len(w) != 0 {
			t.Errorf("%d sessions are left of silent workers: %v", len(w), err)
		}
	})
}

// A countingStore counts reads.
type countingStore struct {
	posthouse.Store
	reads atomic.Int64
}

func (s *countingStore) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	s.reads.Add(1)
	return s.Store.Find(ctx, id)
}

// TestHeartbeatsAreBounded: a heartbeat with more claims than the worker handles is refused, and
// claims that no engine knows cost few reads.
func TestHeartbeatsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &countingStore{Store: memstore.New()}
		h := newHost(t, store, runs.RemoteOptions{})
		s := h.connectFor("w", 10_000)
		have := make([]task.ClaimID, 10_001)
		for i := range have {
			have[i] = task.ClaimID{Gate: posthouse.ID(fmt.Sprint("gate-", i)), Fence: 1}
		}
		var e *posthouse.Error
		if _, err := h.d.Heartbeat(t.Context(), s, have); !errors.As(err, &e) || e.Field != "have" || e.Code != posthouse.CodeInvalid {
			t.Errorf("%d claims: %v", len(have), err)
		}
		before := store.reads.Load()
		for range 5 {
			if p, err := h.d.Heartbeat(t.Context(), s, have[:10_000]); err != nil || len(p.Lost) != 10_000 {
				t.Errorf("%d lost, %v", len(p.Lost), err)
			}
		}
		if n := store.reads.Load() - before; n > 200 {
			t.Errorf("%d reads", n)
		}
	})
}

// TestSessionsAreNoOtherSlots: an id that a client sends names a session and nothing else in the
// store.
func TestSessionsAreNoOtherSlots(t *testing.T) {
	h := newHost(t, memstore.New(), runs.RemoteOptions{})
	key := posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: "engine-1"}
	value, err := json.Marshal(task.Hello{Protocol: 1, Worker: "w", Tasks: []string{"fetch"}, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.l.Store().Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.d.Heartbeat(h.outside("w"), "engine-1", nil); !errors.Is(err, posthouse.ErrNotFound) {
		t.Error(err)
	}
	if err := h.d.Disconnect(h.outside("w"), "engine-1"); err != nil {
		t.Error(err)
	}
	if _, err := h.l.Store().Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotGet}); err != nil {
		t.Errorf("another's slot is gone: %v", err)
	}
}

// TestNamesOfTasksAreBounded for each pass, over an hour, whichever sessions end: each name
// is kept in the queue that engines share.
func TestNamesOfTasksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		connect := func(pass string, i int) error {
			hello := task.Hello{Protocol: task.Protocol, Worker: "w", Group: "gpu", Tasks: []string{fmt.Sprint("task-", i), "fetch"}, Concurrency: 1}
			ctx := task.WithPass(t.Context(), &task.Pass{Name: pass, Groups: []string{task.Any}, Tasks: []string{task.Any}})
			s, err := h.d.Connect(ctx, hello)
			if err != nil {
				return err
			}
			return h.d.Disconnect(ctx, s.ID)
		}
		named := 0
		for i := range 3000 {
			err := connect("flood", i)
			if err == nil {
				named++
				continue
			}
			var e *posthouse.Error
			if !errors.As(err, &e) || e.Code != posthouse.CodeBusy || e.Field != "tasks" {
				t.Fatal(err)
			}
		}
		if named != 1999 { // each in two lines, beside the two of fetch
			t.Errorf("%d sessions of new names", named)
		}
		if err := connect("flood", 7); err != nil {
			t.Errorf("names that are known: %v", err)
		}
		if err := connect("other", 50_000); err != nil {
			t.Errorf("another pass: %v", err)
		}
		time.Sleep(2 * time.Hour) // of the bubble's clock
		if err := connect("flood", 60_000); err != nil {
			t.Errorf("after an hour: %v", err)
		}
	})
}
