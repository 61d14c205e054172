package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

// failed returns the ids of the tasks that failed for good.
func (h *host) failed(q task.Query) (ids []posthouse.ID) {
	h.Helper()
	q.Failed = true
	for i, err := range h.d.Tasks(h.Context(), q) {
		if err != nil || i.State != task.Failed {
			h.Fatalf("task: %+v, error %v", i, err)
		}
		ids = append(ids, i.ID)
	}
	return ids
}

// fail hands a task of a thread out, and has a worker give it up with something saved.
func (h *host) fail(thread, worker string) *task.Claim {
	h.Helper()
	h.run(thread)
	c := h.claim(worker)
	if err := h.d.Save(h.Context(), c.ID, 0, []byte("half")); err != nil {
		h.Fatal(err)
	}
	h.resolve(c, task.Verdict{Action: task.FailPermanent, Reason: "no such page"})
	var e *flow.Error
	if _, err := h.app.Resume(h.Context(), thread); !errors.As(err, &e) {
		h.Fatal(err)
	}
	return c
}

// TestRetry hands a failed task out again in the place where it failed. The handler finds
// the key, the failure and what was saved; the thread goes on from there.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{Expires: time.Hour})
		w := h.connect("w1")
		c := h.fail("t", w)
		if ids := h.failed(task.Query{}); len(ids) != 1 || ids[0] != c.ID.Gate {
			t.Fatalf("failed tasks: %v", ids)
		}
		for _, q := range []task.Query{{Thread: "other"}, {Task: "other"}, {After: c.ID.Gate}} {
			if ids := h.failed(q); len(ids) != 0 {
				t.Errorf("failed tasks of %+v: %v", q, ids)
			}
		}
		time.Sleep(2 * time.Hour) // its time starts again
		w = h.connect("w1")
		again, err := h.d.Retry(t.Context(), c.ID.Gate, "alice")
		if err != nil || again.State != task.Ready || again.Branch != posthouse.MainBranch || again.Call.Attempt != 1 || again.Call.ID != c.Call || again.Saved != 4 {
			t.Fatalf("Retry: %+v, error %v", again, err)
		}
		if !again.ExpiresAt.Equal(again.CreatedAt.Add(time.Hour)) {
			t.Errorf("expires at %s", again.ExpiresAt)
		}
		if ids := h.failed(task.Query{}); len(ids) != 0 {
			t.Errorf("failed tasks: %v", ids)
		}
		if _, err := h.d.Retry(t.Context(), again.ID, "alice"); !errors.Is(err, posthouse.ErrConflict) {
			t.Errorf("an open task: %v", err)
		}
		got := h.claim(w)
		if v, err := h.d.Load(t.Context(), got.ID); got.ID.Gate != again.ID || string(v) != "half" || err != nil || got.Failure != "no such page" {
			t.Errorf("Load: %+v, %q, error %v", got, v, err)
		}
		h.resolve(got, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		h.wantOutput("t", "page")
		if _, err := h.d.Retry(t.Context(), again.ID, "alice"); !errors.Is(err, posthouse.ErrDecided) {
			t.Errorf("a complete task: %v", err)
		}
		if _, err := h.d.Retry(t.Context(), "gate-x", "alice"); !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("Retry: error %v", err)
		}
	})
}

// TestRetryOfThreadThatWentOn hands the task out in a fork: what the program did after the
// failure stays.
func TestRetryOfThreadThatWentOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		app, err := flow.New("careful", func(ctx context.Context, url string) (string, error) {
			page, err := step.Remote[string](ctx, "get", "fetch", url)
			var gone *runs.RemoteError
			if errors.As(err, &gone) {
				return step.Do(ctx, "excuse", func(context.Context) (string, error) { return "no page", nil })
			}
			return page, err
		}).Open(h.l, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.Run(t.Context(), "t", "http://x"); err != nil {
			t.Fatal(err)
		}
		w := h.connect("w1")
		c := h.claim(w)
		h.resolve(c, task.Verdict{Action: task.FailPermanent, Reason: "no such page"})
		if res, err := app.Resume(t.Context(), "t"); err != nil || res.Output != "no page" {
			t.Fatalf("Resume: %+v, error %v", res, err)
		}
		if ids := h.failed(task.Query{}); len(ids) != 0 {
			t.Errorf("the program dealt with the failure: %v", ids)
		}
		again, err := h.d.Retry(t.Context(), c.ID.Gate, "alice")
		if err != nil || again.Branch == posthouse.MainBranch || again.State != task.Ready {
			t.Fatalf("Retry: %+v, error %v", again, err)
		}
		h.resolve(h.claim(w), task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		if res, err := app.Resume(t.Context(), "t", flow.RunOptions{Branch: again.Branch}); err != nil || res.Output != "page" {
			t.Errorf("Resume: %+v, error %v", res, err)
		}
		if res, err := app.Result(t.Context(), "t"); err != nil || res.Output != "no page" {
			t.Errorf("Result: %+v, error %v", res, err)
		}
	})
}

// TestFailedTasksByPages lists failed tasks of many threads from a cursor on.
func TestFailedTasksByPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		w := h.connect("w1")
		var want []posthouse.ID
		for _, thread := range []string{"a", "b", "c"} {
			want = append(want, h.fail(thread, w).ID.Gate)
		}
		var got []posthouse.ID
		for after := posthouse.ID(""); ; {
			next := h.failed(task.Query{After: after})
			if len(next) == 0 {
				break
			}
			after = next[0]
			got = append(got, after)
		}
		if len(got) != 3 || got[0] != want[0] || got[2] != want[2] {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestPurge gives a failed task up: the thread is cancelled and the slot is gone.
func TestPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		c := h.fail("t", h.connect("w1"))
		if err := h.d.Purge(t.Context(), c.ID.Gate, "alice"); err != nil {
			t.Fatal(err)
		}
		if ids := h.failed(task.Query{}); len(ids) != 0 {
			t.Errorf("failed tasks: %v", ids)
		}
		if v, err := h.d.Slot(t.Context(), c.ID.Gate); err != nil || v != nil {
			t.Errorf("Slot: %q, error %v", v, err)
		}
		if info, err := h.l.Thread(t.Context(), "t"); err != nil || info.Status != posthouse.StatusCancelled {
			t.Errorf("Thread: %+v, error %v", info, err)
		}
		if err := h.d.Purge(t.Context(), c.ID.Gate, "alice"); !errors.Is(err, posthouse.ErrConflict) {
			t.Errorf("twice: %v", err)
		}
	})
}

// TestPurgeBesideARetry gives nothing up that a retry has go on in that moment.
func TestPurgeBesideARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		late := &meddling{Store: store}
		a, b := newHost(t, store, runs.RemoteOptions{}), newHost(t, late, runs.RemoteOptions{})
		w := a.connect("w1")
		a.run("t")
		c := a.claim(w)
		if err := a.d.Save(t.Context(), c.ID, 1, []byte("73 of 100")); err != nil {
			t.Fatal(err)
		}
		a.resolve(c, task.Verdict{Action: task.FailPermanent, Reason: "no such page"})
		if _, err := a.app.Resume(t.Context(), "t"); err == nil {
			t.Fatal("the program goes on")
		}
		retry := func() {
			if _, err := a.d.Retry(t.Context(), c.ID.Gate, "alice"); err != nil {
				t.Error(err)
			}
		}
		late.then.Store(&retry)
		if err := b.d.Purge(t.Context(), c.ID.Gate, "bob"); !errors.Is(err, posthouse.ErrConflict) {
			t.Errorf("Purge: error %v", err)
		}
		c = a.claim(w)
		if v, err := a.d.Load(t.Context(), c.ID); err != nil || string(v) != "73 of 100" {
			t.Errorf("Load: %q, error %v", v, err)
		}
		a.resolve(c, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		a.wantOutput("t", "page")
	})
}

// TestLimitOfATask gives workers no more tasks of a name at once than they may have. Each that
// ends makes room for the next.
func TestLimitOfATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		if _, err := dispatch.New(h.l, &dispatch.Options{Concurrency: map[string]int{"fetch": 0}}); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
		d, err := dispatch.New(h.l, &dispatch.Options{Concurrency: map[string]int{"fetch": 2, "other": 1}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.Run(ctx) }()
		defer func() { stop(); <-ended }()
		for _, thread := range []string{"a", "b", "c", "d", "e"} {
			h.run(thread)
		}
		var mu sync.Mutex
		now, most, done := 0, 0, 0
		e, err := worker.New(d, &worker.Options{Concurrency: 8})
		if err != nil {
			t.Fatal(err)
		}
		e.HandleFunc("fetch", func(w worker.Task) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			done++
			mu.Unlock()
			return w.Complete("page")
		})
		working, cancel := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- e.Run(working) }()
		begun := time.Now()
		for range 600 {
			mu.Lock()
			all := done == 5
			mu.Unlock()
			if all {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(begun); done != 5 || most != 2 || took < 3*time.Second || took > 8*time.Second {
			t.Errorf("%d done, %d at once, in %s", done, most, took)
		}
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// TestPauseByHand keeps an open task from workers. The handler does not see it.
func TestPauseByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		h.run("t")
		i, err := h.d.Pause(t.Context(), h.only().ID, time.Hour, "alice")
		if err != nil || i.State != task.Delayed {
			t.Fatalf("Pause: %+v, error %v", i, err)
		}
		for _, wait := range []time.Duration{0, -1, task.MaxPause + 1} {
			var e *posthouse.Error
			if _, err := h.d.Pause(t.Context(), i.ID, wait, "alice"); !errors.As(err, &e) || e.Field != "for" {
				t.Errorf("Pause: %s: %v", wait, err)
			}
		}
		begun := time.Now()
		c := h.claim(h.connect("w1"))
		if d := time.Since(begun); d < 59*time.Minute || c.Paused != "" || c.Attempt != 1 {
			t.Errorf("after %s: %+v", d, c)
		}
		if _, err := h.d.Pause(t.Context(), c.ID.Gate, time.Hour, "alice"); !errors.Is(err, posthouse.ErrConflict) {
			t.Errorf("while a worker has it: %v", err)
		}
	})
}
