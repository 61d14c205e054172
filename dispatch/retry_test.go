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
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// open returns the open tasks of a thread.
func (h *host) open(thread string) (ids []posthouse.ID) {
	h.Helper()
	for g, err := range h.l.Gates(h.Context(), ledger.GateQuery{Thread: thread, Kind: posthouse.GateTask}) {
		if err != nil {
			h.Fatal(err)
		}
		ids = append(ids, g.ID)
	}
	return ids
}

// TestRetryTwice opens one gate, and says which that is.
func TestRetryTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		w := h.connect("w1")
		c := h.fail("t", w)
		again, err := h.d.Retry(t.Context(), c.ID.Gate, "alice")
		if err != nil {
			t.Fatal(err)
		}
		var e *posthouse.Error
		if _, err := h.d.Retry(t.Context(), c.ID.Gate, "bob"); !errors.As(err, &e) || e.Code != posthouse.CodeConflict || e.Gate != again.ID {
			t.Errorf("while it is open: %v", err)
		}
		h.resolve(h.claim(w), task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		h.wantOutput("t", "page")
		if _, err := h.d.Retry(t.Context(), c.ID.Gate, "bob"); !errors.As(err, &e) || e.Code != posthouse.CodeConflict || e.Gate != again.ID {
			t.Errorf("once it is complete: %v", err)
		}
		if info, err := h.l.Thread(t.Context(), "t"); err != nil || len(info.Branches) != 1 {
			t.Errorf("Thread: %+v, error %v", info, err)
		}
	})
}

// TestRetryAtOnce: of many that retry a task at once, one opens it.
func TestRetryAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		c := h.fail("t", h.connect("w1"))
		var group sync.WaitGroup
		errs := make(chan error, 10)
		for range cap(errs) {
			group.Go(func() {
				_, err := h.d.Retry(t.Context(), c.ID.Gate, "alice")
				errs <- err
			})
		}
		group.Wait()
		close(errs)
		opened := 0
		for err := range errs {
			if err == nil {
				opened++
			} else if !errors.Is(err, posthouse.ErrConflict) {
				t.Error(err)
			}
		}
		info, err := h.l.Thread(context.Background(), "t")
		if err != nil || opened != 1 || len(info.Branches) != 1 || len(h.open("t")) != 1 {
			t.Errorf("%d opened; %+v, %v", opened, info, err)
		}
	})
}

// careful is a program that deals with the failure of its task.
func careful(t *testing.T, l *ledger.Ledger, o runs.RemoteOptions) *flow.App[string, string] {
	t.Helper()
	app, err := flow.New("careful", func(ctx context.Context, url string) (string, error) {
		page, err := step.RemoteWith[string](ctx, "get", "fetch", url, o)
		var gone *runs.RemoteError
		if errors.As(err, &gone) || errors.Is(err, posthouse.ErrExpired) {
			return step.Do(ctx, "excuse", func(context.Context) (string, error) { return "no page", nil })
		}
		return page, err
	}).Open(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// TestRetryOnAnotherBranch goes on as in place: with the slot, the handler's steps, the
// iteration and as much time. A second retry of the failure opens nothing.
func TestRetryOnAnotherBranch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		app := careful(t, h.l, runs.RemoteOptions{Expires: time.Hour})
		if _, err := app.Run(t.Context(), "t", "http://x"); err != nil {
			t.Fatal(err)
		}
		w := h.connect("w1")
		h.resolve(h.claim(w), task.Verdict{Action: task.Continue, Output: json.RawMessage(`1`)})
		c := h.claim(w)
		if err := h.d.Save(t.Context(), c.ID, 1, []byte("half")); err != nil {
			t.Fatal(err)
		}
		have, err := h.d.Records(t.Context(), c.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		price := task.StepResult{Name: have.Within + ">price", Value: posthouse.Value{Codec: "json", Data: []byte("7")}}
		if err := h.d.Record(t.Context(), c.ID, price); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour) // the worker is silent: the next attempt waits until its time is over
		late := h.open("t")[0]
		if res, err := app.Resume(t.Context(), "t"); err != nil || res.Output != "no page" {
			t.Fatalf("Resume: %+v, error %v", res, err)
		}
		again, err := h.d.Retry(t.Context(), late, "alice")
		if err != nil || again.Branch == posthouse.MainBranch || again.Saved != 4 || again.Call.Iteration != 1 || !again.ExpiresAt.Equal(again.CreatedAt.Add(time.Hour)) {
			t.Fatalf("Retry: %+v, error %v", again, err)
		}
		var e *posthouse.Error
		if _, err := h.d.Retry(t.Context(), late, "bob"); !errors.As(err, &e) || e.Code != posthouse.CodeConflict || e.Gate != again.ID {
			t.Errorf("twice: %v", err)
		}
		w = h.connect("w1")
		got := h.claim(w)
		if v, err := h.d.Load(t.Context(), got.ID); string(v) != "half" || err != nil || got.Call != c.Call || got.Failure == "" || string(got.Continued) != "1" {
			t.Errorf("Load: %+v, %q, error %v", got, v, err)
		}
		have, err = h.d.Records(t.Context(), got.ID, "")
		if err != nil || len(have.Steps) != 1 || have.Steps[0].Name != price.Name {
			t.Errorf("records: %+v, error %v", have, err)
		}
		h.resolve(got, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"page"`)})
		if res, err := app.Resume(t.Context(), "t", flow.RunOptions{Branch: again.Branch}); err != nil || res.Output != "page" {
			t.Errorf("Resume: %+v, error %v", res, err)
		}
	})
}

// TestRetryBesideAnotherHandler: what a handler beside it records later does not hide a failed
// task, which is retried in place.
func TestRetryBesideAnotherHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		app, err := flow.New("two", func(ctx context.Context, url string) (string, error) {
			g := step.NewGroup(ctx, nil)
			fetch := func(ctx context.Context) (string, error) { return step.Remote[string](ctx, "get", "fetch", url) }
			a, b := step.Go(g, "a", fetch), step.Go(g, "b", fetch)
			err := g.Wait()
			return a.Value() + b.Value(), err
		}).Open(h.l, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.Run(t.Context(), "t", "http://x"); err != nil {
			t.Fatal(err)
		}
		w := h.connect("w1")
		first, second := h.claim(w), h.claim(w)
		h.resolve(first, task.Verdict{Action: task.FailPermanent, Reason: "no such page"})
		have, err := h.d.Records(t.Context(), second.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := h.d.Record(t.Context(), second.ID, task.StepResult{Name: have.Within + ">price", Value: posthouse.Value{Codec: "json", Data: []byte("7")}}); err != nil {
			t.Fatal(err)
		}
		h.resolve(second, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"2"`)})
		if _, err := app.Resume(t.Context(), "t"); err == nil {
			t.Fatal("it has not failed")
		}
		if ids := h.failed(task.Query{}); len(ids) != 1 || ids[0] != first.ID.Gate {
			t.Fatalf("failed tasks: %v", ids)
		}
		again, err := h.d.Retry(t.Context(), first.ID.Gate, "alice")
		if err != nil || again.Branch != posthouse.MainBranch {
			t.Fatalf("Retry: %+v, error %v", again, err)
		}
		h.resolve(h.claim(w), task.Verdict{Action: task.Complete, Output: json.RawMessage(`"1"`)})
		if res, err := app.Resume(t.Context(), "t"); err != nil || len(res.Output) != 2 {
			t.Errorf("Resume: %+v, error %v", res, err)
		}
	})
}
