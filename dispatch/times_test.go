package dispatch_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// TestTimesSurviveAnEngine: a loop's delay, a backoff, a RetryAfter and a pause last as long
// as they are to while the engine is gone, also longer than that.
func TestTimesSurviveAnEngine(t *testing.T) {
	const due = 40 * time.Minute
	for name, v := range map[string]task.Verdict{
		"loop delay":  {Action: task.Continue, Output: json.RawMessage(`1`)},
		"backoff":     {Action: task.Fail, Reason: "no route"},
		"retry after": {Action: task.RetryAfter, Reason: "busy", Delay: due},
		"pause":       {Action: task.Pause, Name: "nap", Delay: due},
	} {
		for away, want := range map[time.Duration]time.Duration{due / 2: due, 2 * due: 2 * due} {
			t.Run(name+" over "+away.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := memstore.New()
					o := runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{InitialDelay: due, MaxDelay: due}, LoopDelay: due}}
					first := newHost(t, store, o)
					first.run("t")
					c := first.claim(first.connect("w1"))
					if err := first.d.Save(t.Context(), c.ID, 1, []byte("mine")); err != nil {
						t.Fatal(err)
					}
					begun := time.Now()
					first.resolve(c, v)
					first.stop()
					time.Sleep(away)
					second := newHost(t, store, o)
					next := second.claim(second.connect("w1"))
					if d := time.Since(begun); d < want || d > want+2*time.Second {
						t.Errorf("it went on after %s, not %s", d, want)
					}
					if state, err := second.d.Load(t.Context(), next.ID); err != nil || string(state) != "mine" || next.Call != c.Call {
						t.Errorf("Load: %q, %v: %+v", state, err, next)
					}
					second.resolve(next, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
					second.wantOutput("t", "page")
				})
			})
		}
	}
}

// TestLoopLimits fail the task in the iteration that goes beyond them, with the reason.
func TestLoopLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits     posthouse.TaskLimits
		iterations int
		reason     string
	}{
		"iterations": {posthouse.TaskLimits{Iterations: 3}, 3, "the limit is 3"},
		"duration":   {posthouse.TaskLimits{Duration: 50 * time.Minute, LoopDelay: 20 * time.Minute}, 3, "duration of 50m0s would be over"}, // a fourth would begin after an hour
		"one":        {posthouse.TaskLimits{Iterations: 1}, 1, "the limit is 1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, memstore.New(), runs.RemoteOptions{Limits: c.limits})
				w := h.connect("w1")
				h.run("t")
				for i := range c.iterations {
					claim := h.claim(w)
					if claim.Iteration != i {
						t.Fatalf("claim: %+v", claim)
					}
					h.resolve(claim, task.Verdict{Action: task.Continue})
				}
				_, err := h.app.Resume(t.Context(), "t")
				var failed *runs.RemoteError
				if !errors.As(err, &failed) || !strings.Contains(failed.Reason, c.reason) {
					t.Errorf("Resume: error %v, not %q", err, c.reason)
				}
			})
		})
	}
}

// TestRetrySchedule doubles the wait before each attempt up to the longest.
func TestRetrySchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 5, InitialDelay: 10 * time.Second, MaxDelay: 30 * time.Second}}})
		w := h.connect("w1")
		h.run("t")
		c := h.claim(w)
		for n, wait := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second} {
			begun := time.Now()
			h.resolve(c, task.Verdict{Action: task.Fail, Reason: "no route"})
			c = h.claim(w)
			if d := time.Since(begun); d < wait || d > wait+2*time.Second || c.Attempt != n+2 || c.Failure != "no route" {
				t.Errorf("attempt %d after %s, not %s", c.Attempt, d, wait)
			}
		}
		h.resolve(c, task.Verdict{Action: task.Fail, Reason: "no route"})
		_, err := h.app.Resume(t.Context(), "t")
		var failed *runs.RemoteError
		if !errors.As(err, &failed) || failed.Attempts != 5 {
			t.Errorf("Resume: error %v", err)
		}
	})
}

// TestSlotsOutliveTheirRun until the thread is deleted.
func TestSlotsOutliveTheirRun(t *testing.T) {
	for name, v := range map[string]task.Verdict{
		"done":   {Action: task.Complete, Output: json.RawMessage(`"page"`)},
		"failed": {Action: task.FailPermanent, Reason: "no such page"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				h := newHost(t, store, runs.RemoteOptions{})
				h.run("t")
				c := h.claim(h.connect("w1"))
				if err := h.d.Save(t.Context(), c.ID, 1, []byte("mine")); err != nil {
					t.Fatal(err)
				}
				h.resolve(c, v)
				if res, err := h.app.Resume(t.Context(), "t"); (err == nil) != (name == "done") {
					t.Fatalf("Resume: %+v, error %v", res, err)
				}
				if state, err := h.d.Slot(t.Context(), c.ID.Gate); err != nil || string(state) != "mine" {
					t.Errorf("behind the run: %q, %v", state, err)
				}
				if _, err := retain.DeleteThread(t.Context(), h.l, "t", nil); err != nil {
					t.Fatal(err)
				}
				key := posthouse.SlotKey{Thread: "t", Step: c.Step}
				if _, err := store.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotGet}); !errors.Is(err, posthouse.ErrNotFound) {
					t.Errorf("behind the thread: %v", err)
				}
			})
		})
	}
}

// TestClaimAfterItsSlotWasDeleted is a claim like any other.
func TestClaimAfterItsSlotWasDeleted(t *testing.T) {
	for name, end := range map[string]func(h *host, c *task.Claim) error{
		"deleted": func(h *host, _ *task.Claim) error {
			_, err := retain.DeleteThread(h.Context(), h.l, "t", nil)
			return err
		},
		"purged and deleted": func(h *host, c *task.Claim) error {
			if err := h.d.Purge(h.Context(), c.ID.Gate, "alice"); err != nil {
				return err
			}
			_, err := retain.DeleteThread(h.Context(), h.l, "t", nil)
			return err
		},
		"purged": func(h *host, c *task.Claim) error { return h.d.Purge(h.Context(), c.ID.Gate, "alice") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, memstore.New(), runs.RemoteOptions{})
				w := h.connect("w1")
				h.run("t")
				for range 3 { // claims of one attempt, which end with their session
					c := h.claim(w)
					if err := h.d.Save(t.Context(), c.ID, 1, []byte("old")); err != nil {
						t.Fatal(err)
					}
					if err := h.d.Disconnect(t.Context(), w); err != nil {
						t.Fatal(err)
					}
					w = h.connect("w1")
				}
				old := h.claim(w)
				h.resolve(old, task.Verdict{Action: task.FailPermanent, Reason: "no such page"})
				if _, err := h.app.Resume(t.Context(), "t"); err == nil {
					t.Fatal("it did not fail")
				}
				if err := end(h, old); err != nil {
					t.Fatal(err)
				}
				h.run("t")
				c := h.claim(w)
				if state, err := h.d.Load(t.Context(), c.ID); err != nil || state != nil || name != "purged" && c.Step != old.Step {
					t.Errorf("Load: %q, %v; %+v", state, err, c)
				}
				h.wantLost(old)
				h.resolve(c, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
				h.wantOutput("t", "page")
			})
		})
	}
}

// TestATaskWhoseThreadIsDeleted is lost: its worker hears of it.
func TestATaskWhoseThreadIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		w := h.connect("w1")
		h.run("t")
		c := h.claim(w)
		if _, err := retain.DeleteThread(t.Context(), h.l, "t", nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if p := h.heartbeat(w); len(p.Lost) != 1 || p.Lost[0] != c.ID {
			t.Errorf("heartbeat: %+v", p)
		}
		h.wantLost(c)
	})
}
