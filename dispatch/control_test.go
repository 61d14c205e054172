package dispatch_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// only returns the one open task.
func (h *host) only() *task.Info {
	h.Helper()
	var all []*task.Info
	for i, err := range h.d.Tasks(h.Context(), task.Query{}) {
		if err != nil {
			h.Fatal(err)
		}
		all = append(all, i)
	}
	if len(all) != 1 {
		h.Fatalf("%d tasks are open", len(all))
	}
	return all[0]
}

// TestTasksAreShown in each of their states, with their worker and the size of their slot.
func TestTasksAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{InitialDelay: time.Minute}}})
		h.run("t")
		if i := h.only(); i.State != task.Ready || i.Thread != "t" || i.Branch != "main" || i.Call.Task != "fetch" || string(i.Input) != `"http://x"` || i.Worker != "" {
			t.Errorf("task: %+v", i)
		}
		w := h.connect("w1")
		c := h.claim(w)
		if err := h.d.Save(t.Context(), c.ID, 0, []byte("mine")); err != nil {
			t.Fatal(err)
		}
		if i := h.only(); i.State != task.Claimed || i.ID != c.ID.Gate || i.Worker != "w1" || i.Session != w || i.Saved != 4 || i.Step != c.Step {
			t.Errorf("task: %+v", i)
		}
		if ws := h.workers(); len(ws) != 1 || ws[0].Worker != "w1" || ws[0].Session != w || len(ws[0].Claims) != 1 || ws[0].Claims[0] != c.ID.Gate || ws[0].Heard.IsZero() {
			t.Errorf("workers: %+v", ws)
		}
		h.resolve(c, task.Verdict{Action: task.Fail, Reason: "no route"})
		if i := h.only(); i.State != task.Delayed || i.Call.Attempt != 2 || i.Call.Failure != "no route" || i.Session != "" || i.Saved != 4 {
			t.Errorf("task: %+v", i)
		}
		if i, err := h.d.Task(t.Context(), c.ID.Gate); err != nil || i.State != task.Decided || i.Decision == nil || i.Decision.Successor != h.only().ID {
			t.Errorf("Task: %+v, error %v", i, err)
		}
		c = h.claim(w)
		h.resolve(c, task.Verdict{Action: task.Pause, Name: "cool down", Delay: time.Hour})
		if i := h.only(); i.State != task.Paused || i.Call.Paused != "cool down" || !i.Call.NotBefore.Equal(time.Now().Add(time.Hour).Truncate(time.Millisecond)) {
			t.Errorf("task: %+v", i)
		}
		for i := range h.d.Tasks(t.Context(), task.Query{Task: "other"}) {
			t.Errorf("task: %+v", i)
		}
		for i := range h.d.Tasks(t.Context(), task.Query{Thread: "other"}) {
			t.Errorf("task: %+v", i)
		}
		if _, err := h.d.Task(t.Context(), "gate-x"); !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("Task: error %v", err)
		}
	})
}

// TestResumeBeforeItsTime has a paused task go on now, and says who did it. The pause that
// the handler comes back from and the slot stay.
func TestResumeBeforeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		h.run("t")
		w := h.connect("w1")
		c := h.claim(w)
		if _, err := h.d.Resume(t.Context(), c.ID.Gate, "alice"); !errors.Is(err, posthouse.ErrConflict) {
			t.Errorf("while a worker has it: %v", err)
		}
		if err := h.d.Save(t.Context(), c.ID, 0, []byte("mine")); err != nil {
			t.Fatal(err)
		}
		h.resolve(c, task.Verdict{Action: task.Pause, Name: "cool down", Delay: 100 * time.Hour})
		paused := h.only()
		next, err := h.d.Resume(t.Context(), paused.ID, "alice")
		if err != nil || next.State != task.Ready || next.ID == paused.ID {
			t.Fatalf("Resume: %+v, error %v", next, err)
		}
		if again, err := h.d.Resume(t.Context(), next.ID, "alice"); err != nil || again.ID != next.ID {
			t.Errorf("what is ready stays: %+v, %v", again, err)
		}
		var e *posthouse.Error
		if _, err := h.d.Resume(t.Context(), paused.ID, "bob"); !errors.As(err, &e) || e.Code != posthouse.CodeConflict || e.Gate != next.ID {
			t.Errorf("resumed twice: %v", err)
		}
		begun := time.Now()
		c = h.claim(w)
		if d := time.Since(begun); d > 2*time.Second || c.Paused != "cool down" || c.Attempt != 1 || c.ID.Gate != next.ID {
			t.Errorf("after %s: %+v", d, c)
		}
		if v, err := h.d.Load(t.Context(), c.ID); err != nil || string(v) != "mine" {
			t.Errorf("Load: %q, error %v", v, err)
		}
		if g, err := h.l.Gate(t.Context(), paused.ID); err != nil || g.Decision == nil || g.Decision.By != "alice" {
			t.Errorf("Gate: %+v, error %v", g, err)
		}
		h.resolve(c, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		h.wantOutput("t", "page")
	})
}

// TestClearSlot has the next attempt find nothing, also where the slot was damaged.
func TestClearSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		h := newHost(t, store, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 5}}})
		h.run("t")
		w := h.connect("w1")
		for _, damage := range []bool{false, true} {
			c := h.claim(w)
			if err := h.d.Save(t.Context(), c.ID, 0, []byte("mine")); err != nil {
				t.Fatal(err)
			}
			if err := h.d.ClearSlot(t.Context(), c.ID.Gate); !errors.Is(err, posthouse.ErrConflict) {
				t.Errorf("while a worker has it: %v", err)
			}
			h.resolve(c, task.Verdict{Action: task.Fail, Reason: "no route"})
			open := h.only()
			if v, err := h.d.Slot(t.Context(), open.ID); err != nil || string(v) != "mine" {
				t.Errorf("Slot: %q, error %v", v, err)
			}
			if damage {
				op := posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("nonsense"), Revision: posthouse.AnyRevision}
				if _, err := store.Slot(t.Context(), posthouse.SlotKey{Thread: "t", Step: c.Step}, op); err != nil {
					t.Fatal(err)
				}
				if _, err := h.d.Slot(t.Context(), open.ID); !errors.Is(err, posthouse.ErrCorrupt) {
					t.Errorf("Slot: error %v", err)
				}
			}
			for range 2 {
				if err := h.d.ClearSlot(t.Context(), open.ID); err != nil {
					t.Error(err)
				}
			}
			if v, err := h.d.Slot(t.Context(), open.ID); err != nil || v != nil {
				t.Errorf("Slot: %q, error %v", v, err)
			}
		}
		c := h.claim(w)
		if v, err := h.d.Load(t.Context(), c.ID); err != nil || v != nil || c.Attempt != 3 {
			t.Errorf("attempt %d: %q, %v", c.Attempt, v, err)
		}
		h.resolve(c, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		h.wantOutput("t", "page")
	})
}
