package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// fetched runs a step, has a worker fetch something, and runs another step.
func fetched(w *world) *flow.Flow[string, string] {
	return flow.New("fetch", func(ctx context.Context, url string) (string, error) {
		if _, err := step.Do(ctx, "plan", func(context.Context) (string, error) { return w.effect("plan"), nil }); err != nil {
			return "", err
		}
		page, err := step.Remote[string](ctx, "get", "fetch", url)
		if err != nil {
			return "", err
		}
		return step.Do(ctx, "store", func(context.Context) (string, error) { return w.effect("store") + " " + page, nil })
	})
}

// theTask returns the one open task of a thread.
func theTask(t *testing.T, l *ledger.Ledger, thread string) *posthouse.Gate {
	t.Helper()
	var found *posthouse.Gate
	for g, err := range l.Gates(t.Context(), ledger.GateQuery{Thread: thread, Kind: posthouse.GateTask}) {
		if err != nil || found != nil {
			t.Fatalf("%v %+v %v", found, g, err)
		}
		found = g
	}
	if found == nil {
		t.Fatalf("thread %s has no open task", thread)
	}
	return found
}

// resolve decides a task, and returns the one that takes its place or nil.
func resolve(t *testing.T, l *ledger.Ledger, g *posthouse.Gate, o commit.TaskOutcome) *posthouse.Gate {
	t.Helper()
	o.By = "worker:w1"
	_, next, err := commit.ResolveTask(t.Context(), l.Core(), commit.GateRef{Gate: g.ID}, &o)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestRemoteTaskCompletes(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	l := w.ledger()
	a := must.Get(fetched(w).Open(l, nil))(t)
	res, err := a.Run(ctx, "t", "http://x")
	wantStatus(t, res, err, posthouse.StatusWaiting)
	g := theTask(t, l, "t")
	if c := g.Call; c.ID != g.ID || c.Task != "fetch" || c.Attempt != 1 || string(g.Payload) != `"http://x"` || c.Began.IsZero() {
		t.Fatalf("g.Call %+v, g.Payload %s", g.Call, g.Payload)
	}
	if _, err := l.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Respond, By: "alice", Value: json.RawMessage(`1`)}); !errors.Is(err, posthouse.ErrForbidden) {
		t.Errorf("a person completes a task: %v", err)
	}
	for g := range l.Gates(ctx, ledger.GateQuery{}) {
		t.Errorf("the inbox shows %+v", g)
	}
	resolve(t, l, g, commit.TaskOutcome{Output: json.RawMessage(`"page"`)})
	_, _, err = commit.ResolveTask(ctx, l.Core(), commit.GateRef{Gate: g.ID}, &commit.TaskOutcome{By: "worker:w2", Output: json.RawMessage(`"late"`)})
	if !errors.Is(err, posthouse.ErrDecided) {
		t.Errorf("resolved twice: %v", err)
	}
	for range 2 {
		res, err = a.Resume(ctx, "t")
		wantStatus(t, res, err, posthouse.StatusDone)
		if res.Output != "store1 page" {
			t.Errorf("result %+v", res)
		}
	}
	w.want("[plan store]")
}

// TestRemoteTaskIsTriedAgain: the program is not run for what goes on, and the branch waits
// all the time.
func TestRemoteTaskIsTriedAgain(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	l := w.ledger()
	a := must.Get(fetched(w).Open(l, nil))(t)
	res, err := a.Run(ctx, "t", "http://x")
	wantStatus(t, res, err, posthouse.StatusWaiting)
	first := theTask(t, l, "t")
	g := first
	for _, next := range []func(*posthouse.TaskCall, time.Time) *posthouse.TaskCall{
		func(c *posthouse.TaskCall, now time.Time) *posthouse.TaskCall {
			return commit.NextAttempt(c, now, "no route", 0)
		},
		func(c *posthouse.TaskCall, now time.Time) *posthouse.TaskCall {
			return commit.Pause(c, now, "cool down", time.Minute)
		},
		func(c *posthouse.TaskCall, now time.Time) *posthouse.TaskCall {
			n, err := commit.NextIteration(c, now, json.RawMessage(`{"n":1}`))
			if err != nil {
				t.Error(err)
			}
			return n
		},
	} {
		before := g
		g = resolve(t, l, g, commit.TaskOutcome{Next: next(g.Call, l.Now()), Why: "goes on"})
		if g == nil {
			t.Fatal("nothing takes its place")
		}
		if open := theTask(t, l, "t"); open.ID != g.ID || g.Call.ID != first.ID || g.Supersedes != before.ID || g.Name != first.Name {
			t.Fatalf("%+v, open is %s", g, open.ID)
		}
		info, err := l.Thread(ctx, "t")
		if err != nil || info.Status != posthouse.StatusWaiting || info.Runnable() {
			t.Fatalf("info %+v, error %v", info, err)
		}
		var e *posthouse.Error
		_, _, err = commit.ResolveTask(ctx, l.Core(), commit.GateRef{Gate: before.ID}, &commit.TaskOutcome{By: "worker:w2", Output: json.RawMessage(`"late"`)})
		if !errors.As(err, &e) || e.Code != posthouse.CodeConflict || e.Gate != g.ID {
			t.Fatalf("a late verdict: %v", err)
		}
	}
	if c := g.Call; c.Attempt != 1 || c.Iteration != 1 || string(c.Continued) != `{"n":1}` || c.Paused != "" || c.Failure != "" {
		t.Errorf("%+v", c)
	}
	res, err = a.Resume(ctx, "t")
	wantStatus(t, res, err, posthouse.StatusWaiting)
	resolve(t, l, theTask(t, l, "t"), commit.TaskOutcome{Output: json.RawMessage(`"page"`)})
	res, err = must.Get(fetched(w).Open(w.ledger(), nil))(t).Resume(ctx, "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	w.want("[plan store]")
}

func TestRemoteTaskFails(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	l := w.ledger()
	a := must.Get(fetched(w).Open(l, nil))(t)
	res, err := a.Run(ctx, "t", "http://x")
	wantStatus(t, res, err, posthouse.StatusWaiting)
	g := theTask(t, l, "t")
	for g.Call.Attempt < 3 {
		g = resolve(t, l, g, commit.TaskOutcome{Next: commit.NextAttempt(g.Call, l.Now(), "no route", 0), Why: "no route"})
	}
	if next := commit.NextAttempt(g.Call, l.Now(), "no route", 0); next != nil {
		t.Errorf("attempt %d of 3", next.Attempt)
	}
	resolve(t, l, g, commit.TaskOutcome{Failed: "no route"})
	_, err = a.Resume(ctx, "t")
	var failed *runs.RemoteError
	if !errors.As(err, &failed) || failed.Task != "fetch" || failed.Attempts != 3 || failed.Worker != "worker:w1" || failed.Reason != "no route" || failed.Gate != g.ID {
		t.Errorf("%v", err)
	}
}

// TestForkDispatchesItsOwnTask: an answer of one of the two does not serve the other.
func TestForkDispatchesItsOwnTask(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	l := w.ledger()
	a := must.Get(fetched(w).Open(l, nil))(t)
	res, err := a.Run(ctx, "t", "http://x")
	wantStatus(t, res, err, posthouse.StatusWaiting)
	source := resolve(t, l, theTask(t, l, "t"), commit.TaskOutcome{Next: commit.NextAttempt(theTask(t, l, "t").Call, l.Now(), "no route", 0)})
	f, err := l.Fork(ctx, res.Checkpoint, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Gates) != 1 || f.Gates[0] == source.ID {
		t.Fatalf("the fork has %v", f.Gates)
	}
	resolve(t, l, source, commit.TaskOutcome{Output: json.RawMessage(`"page"`)})
	copied, err := l.Gate(ctx, f.Gates[0])
	if err != nil || copied.Decision != nil || copied.Call == nil || copied.Call.Task != "fetch" {
		t.Fatalf("copied %+v, error %v", copied, err)
	}
	res, err = a.Resume(ctx, "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	resolve(t, l, copied, commit.TaskOutcome{Output: json.RawMessage(`"other"`)})
	res, err = a.Resume(ctx, "t", flow.RunOptions{Branch: f.Branch})
	wantStatus(t, res, err, posthouse.StatusDone)
	if res.Output != "store2 other" {
		t.Errorf("result %+v", res)
	}
}

// TestTasksAtOnce: one is tried again while the program runs beside it.
func TestTasksAtOnce(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	l := w.ledger()
	runs := 0
	f := flow.New("both", func(ctx context.Context, _ int) (int, error) {
		runs++
		g := step.NewGroup(ctx, nil)
		slow := step.Go(g, "slow", func(ctx context.Context) (int, error) { return step.Remote[int](ctx, "slow", "work", 1) })
		quick := step.Go(g, "quick", func(ctx context.Context) (int, error) {
			n, err := step.Remote[int](ctx, "quick", "work", 2)
			if err == nil && runs == 2 { // another attempt of the slow one begins while this runs
				for g, err := range l.Gates(ctx, ledger.GateQuery{Thread: "t", Kind: posthouse.GateTask}) {
					if err != nil {
						return 0, err
					}
					resolve(t, l, g, commit.TaskOutcome{Next: commit.NextAttempt(g.Call, l.Now(), "again", 0)})
				}
			}
			return n, err
		})
		if err := g.Wait(); err != nil {
			return 0, err
		}
		a, err := slow.Get()
		if err != nil {
			return 0, err
		}
		b, err := quick.Get()
		return a + b, err
	})
	a := must.Get(f.Open(l, nil))(t)
	res, err := a.Run(ctx, "t", 0)
	wantStatus(t, res, err, posthouse.StatusWaiting)
	for _, g := range res.Waiting {
		if string(g.Payload) == "2" {
			resolve(t, l, &g, commit.TaskOutcome{Output: json.RawMessage("20")})
		}
	}
	res, err = a.Resume(ctx, "t")
	wantStatus(t, res, err, posthouse.StatusWaiting)
	g := theTask(t, l, "t")
	if g.Call.Attempt != 2 || string(g.Payload) != "1" {
		t.Fatalf("g.Call %+v", g.Call)
	}
	resolve(t, l, g, commit.TaskOutcome{Output: json.RawMessage("1")})
	res, err = a.Resume(ctx, "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	if res.Output != 21 {
		t.Errorf("result %+v", res)
	}
}

func TestRemoteIsChecked(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	l := w.ledger()
	for field, o := range map[string]runs.RemoteOptions{
		"Start": {Start: -1}, "Expires": {Expires: 1 << 62}, "attempts": {Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 1001}}},
		"iterations": {Limits: posthouse.TaskLimits{Iterations: -1}}, "backoff": {Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{InitialDelay: -1}}},
		"group": {Group: "a\nb"}, "trace": {Trace: map[string]string{"": "x"}},
	} {
		a := must.Get(flow.New("f", func(ctx context.Context, _ int) (int, error) {
			return step.RemoteWith[int](ctx, "x", "work", 1, o)
		}).Open(l, nil))(t)
		_, err := a.Run(ctx, "t-"+field, 0)
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestRetriedTaskKeepsItsPlace: a retried task stays before the steps after it when the
// program runs again.
func TestRetriedTaskKeepsItsPlace(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	l := w.ledger()
	a := must.Get(flow.New("fetch", func(ctx context.Context, url string) (string, error) {
		page, err := step.Remote[string](ctx, "get", "fetch", url)
		if err != nil {
			return "", err
		}
		if _, err := step.Do(ctx, "store", func(context.Context) (string, error) { return w.effect("store"), nil }); err != nil {
			return "", err
		}
		return step.Remote[string](ctx, "ship", "ship", page)
	}).Open(l, nil))(t)
	res, err := a.Run(ctx, "t", "http://x")
	wantStatus(t, res, err, posthouse.StatusWaiting)
	first := theTask(t, l, "t")
	second := resolve(t, l, first, commit.TaskOutcome{Next: commit.NextAttempt(first.Call, l.Now(), "no route", 0), Why: "no route"})
	resolve(t, l, second, commit.TaskOutcome{Output: json.RawMessage(`"page"`)})
	res, err = a.Resume(ctx, "t")
	wantStatus(t, res, err, posthouse.StatusWaiting)
	resolve(t, l, theTask(t, l, "t"), commit.TaskOutcome{Output: json.RawMessage(`"shipped"`)})
	res, err = a.Resume(ctx, "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	w.want("[store]")
}
