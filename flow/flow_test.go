package flow_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/step"
)

// order charges, asks, ships.
func order(w *world) flow.Func[string, string] {
	return func(ctx context.Context, item string) (string, error) {
		charge, err := w.do(ctx, "charge")
		if err != nil {
			return "", err
		}
		a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "ship"})
		if err != nil {
			return "", err
		}
		if !a.Approved() {
			return "kept " + item, nil
		}
		ship, err := w.do(ctx, "ship")
		return item + " " + charge + " " + ship, err
	}
}

// Atmosphere's WorkflowTest: linear, hibernate, resume at the next step; and the
// history shows each step.
func TestFlowParksAndGoesOn(t *testing.T) {
	w := newWorld(t)
	a := app(w, order(w), nil)
	res, err := a.Run(t.Context(), "t", "book", flow.RunOptions{By: "bob", Coordination: "shop"})
	wantStatus(t, res, err, posthouse.StatusWaiting)
	if len(res.Waiting) != 1 || res.Waiting[0].Name != "ship" {
		t.Fatalf("res.Waiting %+v", res.Waiting)
	}
	w.want("[charge]")
	again := must.Get(a.Resume(t.Context(), "t"))(t)
	if again.Status != posthouse.StatusWaiting || len(again.Waiting) != 1 || again.Checkpoint != res.Checkpoint {
		t.Fatalf("again %+v", again)
	}

	b := app(w, order(w), nil) // another process
	approve(t, w.ledger(), res.Waiting[0].ID)
	res, err = b.Resume(t.Context(), "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	if res.Output != "book charge1 ship1" {
		t.Fatal(res.Output)
	}
	w.want("[charge ship]")
	if got := steps(t, b, "t"); got != "input charge wait ship node " {
		t.Fatal(got)
	}
	s := must.Get(b.State(t.Context(), "t"))(t)
	if s.Input != "book" || s.Output != res.Output || s.Graph != "order" || s.Coordination != "shop" {
		t.Fatalf("%+v", s)
	}
	if s := must.Get(b.State(t.Context(), "t", flow.StateOptions{Node: "charge"}))(t); s.Kind != posthouse.KindEvent || s.Status != posthouse.StatusRunning {
		t.Fatalf("s.Header %+v", s.Header)
	}
	for _, h := range must.Get(collect(b.History(t.Context(), "t")))(t) {
		if h.Run != s.Run {
			t.Fatalf("checkpoint %s is of run %s, not %s", h.Kind, h.Run, s.Run)
		}
	}
	res, err = b.Resume(t.Context(), "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	if res.Output != "book charge1 ship1" {
		t.Fatal("a finished thread lost its output")
	}
	w.want("[charge ship]")
}

func collect[In, Out any](seq func(func(*flow.Snapshot[In, Out], error) bool)) (all []*flow.Snapshot[In, Out], err error) {
	for s, e := range seq {
		if e != nil {
			return nil, e
		}
		all = append(all, s)
	}
	return all, nil
}

func TestFewCheckpoints(t *testing.T) {
	w := newWorld(t)
	a := app(w, order(w), &flow.Options{FewCheckpoints: true})
	res := must.Get(a.Run(t.Context(), "t", "book"))(t)
	approve(t, w.ledger(), res.Waiting[0].ID)
	res, err := app(w, order(w), &flow.Options{FewCheckpoints: true}).Resume(t.Context(), "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	if got := steps(t, a, "t"); got != "input wait node " {
		t.Fatal(got)
	}
	w.want("[charge ship]")
}

// A failed flow is resumed with the steps it has; the input is on record before
// anything runs.
func TestFlowFailsAndGoesOn(t *testing.T) {
	w, broken := newWorld(t), true
	a := app(w, func(ctx context.Context, in int) (int, error) {
		if _, err := w.do(ctx, "a"); err != nil {
			return 0, err
		}
		if broken {
			return 0, errBoom
		}
		_, err := w.do(ctx, "b")
		return in * 2, err
	}, nil)
	_, err := a.Run(t.Context(), "t", 21)
	var failed *flow.Error
	if !errors.As(err, &failed) || !errors.Is(err, errBoom) || failed.Flow != "order" || failed.Thread != "t" {
		t.Fatal(err)
	}
	s := must.Get(a.State(t.Context(), "t"))(t)
	if s.Status != posthouse.StatusFailed || s.Error != "boom" || s.ID != failed.Checkpoint || s.Input != 21 {
		t.Fatalf("%+v", s)
	}
	if res := must.Get(a.Result(t.Context(), "t"))(t); res.Status != posthouse.StatusFailed || res.Error != "boom" {
		t.Fatalf("result %+v", res)
	}
	broken = false
	res, err := a.Resume(t.Context(), "t")
	if wantStatus(t, res, err, posthouse.StatusDone); res.Output != 42 {
		t.Fatal(res.Output)
	}
	w.want("[a b]")
	if got := steps(t, a, "t"); got != "input a fail b node " {
		t.Fatal(got)
	}
}

func TestFlowThatPanics(t *testing.T) {
	w := newWorld(t)
	a := app(w, func(context.Context, int) (int, error) { panic("on the floor") }, nil)
	_, err := a.Run(t.Context(), "t", 1)
	var p *engine.PanicError
	if !errors.As(err, &p) || !strings.Contains(err.Error(), "flow_test.go") {
		t.Fatal(err)
	}
	if s := must.Get(a.State(t.Context(), "t"))(t); s.Status != posthouse.StatusFailed {
		t.Fatal(s.Status)
	}
}

// A flow that swallows the error of a question is parked all the same, and one
// that returns it without having asked has failed.
func TestNoGateIsPassedUndecided(t *testing.T) {
	w := newWorld(t)
	a := app(w, func(ctx context.Context, _ int) (string, error) {
		ans, _ := gate.Ask[struct{}](ctx, gate.Question{Name: "ok"})
		return string(ans.Verdict), nil
	}, nil)
	res, err := a.Run(t.Context(), "t", 1)
	wantStatus(t, res, err, posthouse.StatusWaiting)
	approve(t, w.ledger(), res.Waiting[0].ID)
	res = must.Get(a.Resume(t.Context(), "t"))(t)
	if res.Output != "approve" {
		t.Fatalf("result %+v", res)
	}
	b := app(w, func(context.Context, int) (int, error) { return 0, posthouse.ErrWaiting }, nil)
	_, err = b.Run(t.Context(), "u", 1)
	must.Fail(t, err, posthouse.ErrInvalid)
}

// Code that came to differ from the record is told so before anything runs.
func TestChangedFlowIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		names           []string
		asked, recorded string
	}{
		"order":  {[]string{"b", "a"}, "b", "a"},
		"new":    {[]string{"a", "new", "b"}, "new", "b"},
		"gone":   {[]string{"b"}, "b", "a"},
		"return": {[]string{"a"}, "(the end)", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			w, names, broken := newWorld(t), []string{"a", "b"}, true
			swallow := false
			a := app(w, func(ctx context.Context, _ int) (int, error) {
				for _, n := range names {
					if _, err := w.do(ctx, n); err != nil && !swallow {
						return 0, err
					}
				}
				if broken {
					return 0, errBoom
				}
				return 1, nil
			}, nil)
			_, err := a.Run(t.Context(), "t", 1)
			must.Fail(t, err, errBoom)
			names, broken = tc.names, false
			for _, swallow = range []bool{false, true} {
				_, err = a.Resume(t.Context(), "t")
				var order *engine.OrderError
				if !errors.As(err, &order) || order.Asked != tc.asked || order.Recorded != tc.recorded {
					t.Fatalf("swallowed %v: %v", swallow, err)
				}
			}
			w.want("[a b]")
			names = []string{"a", "b"}
			if res, err := a.Resume(t.Context(), "t"); err != nil || res.Status != posthouse.StatusDone {
				t.Fatal("the old code cannot go on:", err)
			}
			w.want("[a b]")
		})
	}
}

// Calls of a goroutine after the function returned are refused and change
// nothing.
func TestLateGoroutineIsRefused(t *testing.T) {
	w := newWorld(t)
	release, late := make(chan struct{}), make(chan error)
	a := app(w, func(ctx context.Context, _ int) (int, error) {
		ctx = step.Unordered(ctx)
		started := make(chan struct{})
		go func() {
			_, err := step.Do(ctx, "running", func(context.Context) (int, error) { close(started); <-release; return 1, nil })
			_, err2 := w.do(ctx, "after")
			late <- errors.Join(err, err2)
		}()
		<-started
		return 7, nil
	}, nil)
	res, err := a.Run(t.Context(), "t", 1)
	wantStatus(t, res, err, posthouse.StatusDone)
	close(release)
	must.Fail(t, <-late, posthouse.ErrClosed)
	if s := must.Get(a.State(t.Context(), "t"))(t); s.Status != posthouse.StatusDone || s.ID != res.Checkpoint {
		t.Fatalf("s.Header %+v", s.Header)
	}
	w.want("[]")
}

// An output that does not encode is a failure, not a thread that is done.
func TestOutputThatDoesNotEncode(t *testing.T) {
	w := newWorld(t)
	a := app(w, func(context.Context, int) (any, error) { return make(chan int), nil }, nil)
	if _, err := a.Run(t.Context(), "t", 1); err == nil {
		t.Fatal("no error")
	}
	if s := must.Get(a.State(t.Context(), "t"))(t); s.Status != posthouse.StatusFailed {
		t.Fatal(s.Status)
	}
	b := app(w, func(context.Context, chan int) (int, error) { return 1, nil }, nil)
	_, err := b.Run(t.Context(), "u", make(chan int))
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = b.State(t.Context(), "u")
	must.Fail(t, err, posthouse.ErrNotFound)
}

func TestBadCalls(t *testing.T) {
	w := newWorld(t)
	fn := func(context.Context, int) (int, error) { return 1, nil }
	l := w.ledger()
	for _, f := range []*flow.Flow[int, int]{flow.New("", fn), flow.New("no\nname", fn), flow.New[int, int]("nil", nil)} {
		if _, err := f.Open(l, nil); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
	}
	if _, err := flow.New("x", fn).Open(nil, nil); !errors.Is(err, posthouse.ErrInvalid) {
		t.Error(err)
	}
	a := app(w, fn, nil)
	ctx := t.Context()
	_, err := a.Resume(ctx, "nobody")
	must.Fail(t, err, posthouse.ErrNotFound)
	must.Fail(t, a.Advance(ctx, "nobody", "main"), posthouse.ErrNotFound)
	_, err = a.Run(ctx, "no\nname", 1)
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.Run(ctx, "t", 1, flow.RunOptions{}, flow.RunOptions{})
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = a.Run(ctx, "t", 1, flow.RunOptions{Branch: "nobody"})
	must.Fail(t, err, posthouse.ErrNotFound)
	must.Get(a.Run(ctx, "", 1))(t)
	if s := must.Get(a.State(ctx, ""))(t); s.Thread != posthouse.DefaultThread {
		t.Fatal(s.Thread)
	}
	other := must.Get(flow.New("other", fn).Open(l, nil))(t)
	_, err = other.Resume(ctx, "")
	must.Fail(t, err, posthouse.ErrInvalid)
	_, err = other.Run(ctx, "", 1)
	must.Fail(t, err, posthouse.ErrInvalid)
	if _, err := l.Save(ctx, posthouse.Root("byhand", nil), nil); err != nil {
		t.Fatal(err)
	}
	_, err = a.Resume(ctx, "byhand")
	must.Fail(t, err, posthouse.ErrInvalid)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = a.Run(ended, "t", 1)
	must.Fail(t, err, context.Canceled)
	_, _, err = flow.Previous[int](ctx)
	must.Fail(t, err, posthouse.ErrInvalid)
}

// Sleeps and signals park the flow; what comes while nothing waits is kept.
func TestFlowWaitsForTimeAndSignals(t *testing.T) {
	w := newWorld(t)
	fn := func(ctx context.Context, _ int) (string, error) {
		if err := step.Sleep(ctx, "cool", time.Hour); err != nil {
			return "", err
		}
		if _, err := w.do(ctx, "a"); err != nil {
			return "", err
		}
		return step.Signal[string](ctx, "go", step.SignalOptions{})
	}
	a := app(w, fn, nil)
	ctx := t.Context()
	res, err := a.Run(ctx, "t", 1)
	wantStatus(t, res, err, posthouse.StatusWaiting)
	if res.Waiting[0].Kind != posthouse.GateTimer {
		t.Fatalf("res.Waiting %+v", res.Waiting)
	}
	w.advance(time.Hour)
	res, err = app(w, fn, nil).Resume(ctx, "t")
	wantStatus(t, res, err, posthouse.StatusWaiting)
	if len(res.Waiting) != 1 || res.Waiting[0].Signal != "go" {
		t.Fatalf("res.Waiting %+v", res.Waiting)
	}
	if _, err := w.ledger().Signal(ctx, "t", posthouse.Signal{Name: "go", Value: []byte(`"now"`)}); err != nil {
		t.Fatal(err)
	}
	res, err = app(w, fn, nil).Resume(ctx, "t")
	if wantStatus(t, res, err, posthouse.StatusDone); res.Output != "now" {
		t.Fatal(res.Output)
	}
	w.want("[a]")
}

// A flow that continued past a failed step and then waited finds the failure the next time.
func TestWaitAfterASurvivedFailure(t *testing.T) {
	w, broken := newWorld(t), true
	fn := func(ctx context.Context, _ int) (string, error) {
		v, err := step.Do(ctx, "a", func(context.Context) (string, error) {
			if broken {
				return "", errBoom
			}
			return w.effect("a"), nil
		})
		if err != nil {
			v = "none"
		}
		return v, step.Sleep(ctx, "nap", time.Hour)
	}
	res, err := app(w, fn, nil).Run(t.Context(), "t", 1)
	wantStatus(t, res, err, posthouse.StatusWaiting)
	broken = false
	w.advance(time.Hour)
	for range 2 {
		res, err = app(w, fn, nil).Resume(t.Context(), "t")
		if wantStatus(t, res, err, posthouse.StatusDone); res.Output != "none" {
			t.Fatal(res.Output)
		}
	}
	w.want("[]")
}

// A run's labels find its input.
func TestLabelsFindTheInput(t *testing.T) {
	w := newWorld(t)
	a := app(w, order(w), nil)
	res := must.Get(a.Run(t.Context(), "t", "book", flow.RunOptions{Labels: map[string]string{"customer": "7"}}))(t)
	found := 0
	for h, err := range w.ledger().List(t.Context(), posthouse.Query{Label: "customer", LabelValue: "7"}) {
		if err != nil || h.Kind != posthouse.KindInput || h.Thread != res.Thread {
			t.Fatalf("%+v, %v", h, err)
		}
		found++
	}
	if found != 1 {
		t.Fatal(found)
	}
}
