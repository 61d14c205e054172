package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/dying"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// naps returns a flow that sleeps for an hour between two steps.
func naps(led *ledger.Ledger, work func() error) *flow.App[string, bool] {
	app, err := flow.New("naps", func(ctx context.Context, _ string) (bool, error) {
		if err := step.Sleep(ctx, "nap", time.Hour); err != nil {
			return false, err
		}
		return step.Do(ctx, "work", func(context.Context) (bool, error) { return true, work() })
	}).Open(led, nil)
	if err != nil {
		panic(err)
	}
	return app
}

// TestSettle moves what can run, then what is due, and leaves other programs alone.
func TestSettle(t *testing.T) {
	ctx, now := t.Context(), time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	led := must.Get(ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }}))(t)
	done := 0
	app := naps(led, func() error { done++; return nil })
	other := must.Get(flow.New("other", func(context.Context, string) (bool, error) { return true, nil }).Open(led, nil))(t)
	r := must.Get(runner.New(led, &runner.Options{Programs: []posthouse.Program{app}}))(t)
	for _, thread := range []string{"a", "b"} {
		must.Get(app.StartJSON(ctx, thread, []byte(`""`), nil))(t)
	}
	must.Get(other.StartJSON(ctx, "c", []byte(`""`), nil))(t)
	must.Do(t, r.Settle(ctx))
	if a, c := must.Get(led.Thread(ctx, "a"))(t).Status, must.Get(led.Thread(ctx, "c"))(t).Status; a != posthouse.StatusWaiting || c != posthouse.StatusRunning || done != 0 {
		t.Errorf("a is %s, c of another program is %s, %d worked", a, c, done)
	}
	now = now.Add(time.Hour)
	must.Do(t, r.Settle(ctx))
	must.Do(t, r.Settle(ctx)) // there is nothing to do
	if a := must.Get(led.Thread(ctx, "b"))(t).Status; a != posthouse.StatusDone || done != 2 {
		t.Errorf("b is %s, %d worked", a, done)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	must.Fail(t, r.Settle(ended), context.Canceled)
	must.Do(t, led.Close())
}

// TestSettleWhatFails fails a program, which is no error, and loses the store, which is one.
func TestSettleWhatFails(t *testing.T) {
	ctx, now := t.Context(), time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	store := dying.New(memstore.New())
	led := must.Get(ledger.Open(store, &ledger.Options{Now: func() time.Time { return now }}))(t)
	app := naps(led, func() error { return errors.New("no") })
	r := must.Get(runner.New(led, &runner.Options{Programs: []posthouse.Program{app}}))(t)
	for _, thread := range []string{"a", "b"} {
		must.Get(app.StartJSON(ctx, thread, []byte(`""`), nil))(t)
	}
	must.Do(t, r.Settle(ctx))
	now = now.Add(time.Hour)
	must.Do(t, r.Settle(ctx))
	if a := must.Get(led.Thread(ctx, "a"))(t).Status; a != posthouse.StatusFailed {
		t.Errorf("a is %s", a)
	}
	must.Get(app.StartJSON(ctx, "c", []byte(`""`), nil))(t)
	store.Die(1, false)
	if err := r.Settle(ctx); err == nil {
		t.Error("a thread that cannot go on is passed over")
	}
	_ = led.Close() // its store is gone
}
