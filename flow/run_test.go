package flow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/step"
)

// A run that is sent twice is executed once, whatever became of it in between.
func TestRunIDMakesARunIdempotent(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := app(w, order(w), nil)
	run := func(id string) (*flow.Result[string], error) {
		return a.Run(ctx, "t", "book", flow.RunOptions{Run: id})
	}
	first, err := run("r1")
	wantStatus(t, first, err, posthouse.StatusWaiting)
	again, err := run("r1")
	wantStatus(t, again, err, posthouse.StatusWaiting)
	if again.Checkpoint != first.Checkpoint || again.Run != "r1" {
		t.Fatalf("again %+v", again)
	}
	approve(t, w.ledger(), first.Waiting[0].ID)
	a = app(w, order(w), nil)
	done, err := run("r1") // goes on, like Resume
	wantStatus(t, done, err, posthouse.StatusDone)
	for range 2 {
		again, err = run("r1")
		wantStatus(t, again, err, posthouse.StatusDone)
		if again.Output != done.Output || again.Checkpoint != done.Checkpoint {
			t.Fatalf("again %+v", again)
		}
	}
	w.want("[charge ship]")

	second, err := run("r2")
	wantStatus(t, second, err, posthouse.StatusWaiting)
	again, err = run("r1") // of an execution before the newest
	wantStatus(t, again, err, posthouse.StatusDone)
	if again.Output != done.Output || again.Run != "r1" {
		t.Fatalf("again %+v", again)
	}
	w.want("[charge ship charge]")

	for _, id := range []string{"r1", "r2"} { // one that is past, and the newest
		var e *posthouse.Error
		_, err := a.Run(ctx, "t", "another", flow.RunOptions{Run: id})
		if !errors.Is(err, posthouse.ErrExists) || !errors.As(err, &e) || e.Field != "Run" || e.Hint == "" {
			t.Errorf("run %s with another input: %v", id, err)
		}
	}
	w.want("[charge ship charge]")
}

// While somebody runs it, the same run is told so and another is refused.
func TestRunIDOfARunningExecution(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	started, release := make(chan struct{}), make(chan struct{})
	l := w.ledger()
	f := flow.New("order", func(ctx context.Context, _ int) (string, error) {
		return step.Do(ctx, "a", func(context.Context) (string, error) { close(started); <-release; return w.effect("a"), nil })
	})
	a := must.Get(f.Open(l, nil))(t)
	ended := make(chan error)
	go func() {
		_, err := a.Run(ctx, "t", 1, flow.RunOptions{Run: "r1"})
		ended <- err
	}()
	<-started
	res, err := a.Run(ctx, "t", 1, flow.RunOptions{Run: "r1"})
	wantStatus(t, res, err, posthouse.StatusRunning)
	if res.Checkpoint == "" {
		t.Fatal("it does not say where it is")
	}
	_, err = a.Run(ctx, "t", 1, flow.RunOptions{Run: "r2"})
	must.Fail(t, err, posthouse.ErrBusy)
	_, err = a.Run(ctx, "t", 1)
	must.Fail(t, err, posthouse.ErrBusy)
	_, err = a.Resume(ctx, "t")
	must.Fail(t, err, posthouse.ErrBusy)
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.want("[a]")
}

// The run that is done is told as done, though somebody still has its thread.
func TestRunIDOfAnExecutionThatIsOver(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := app(w, func(ctx context.Context, _ int) (string, error) { return w.do(ctx, "a") }, nil)
	must.Get(a.Run(ctx, "t", 1, flow.RunOptions{Run: "r1"}))(t)
	other := must.Get(w.ledger().Claim(ctx, "t", "its resumption"))(t)
	must.Get(other.Persist(ctx))(t)
	res, err := a.Run(ctx, "t", 1, flow.RunOptions{Run: "r1"})
	if wantStatus(t, res, err, posthouse.StatusDone); res.Output != "a1" {
		t.Errorf("result %+v", res)
	}
	_, err = a.Run(ctx, "t", 2, flow.RunOptions{Run: "r1"})
	must.Fail(t, err, posthouse.ErrExists)
	_, err = a.Run(ctx, "t", 1, flow.RunOptions{Run: "r2"})
	must.Fail(t, err, posthouse.ErrBusy)
	if err := other.Release(ctx); err != nil {
		t.Fatal(err)
	}
	w.want("[a]")
}

// New input on a waiting thread is refused, and what it asks is kept, unless it says that it
// withdraws that: then it begins a new execution.
func TestNewInputReplacesAWait(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a := app(w, order(w), nil)
	first := must.Get(a.Run(ctx, "t", "book"))(t)
	_, err := a.Run(ctx, "t", "lamp")
	must.Fail(t, err, posthouse.ErrConflict)
	second := must.Get(a.Run(ctx, "t", "lamp", flow.RunOptions{Withdraw: true}))(t)
	if second.Waiting[0].ID == first.Waiting[0].ID {
		t.Fatal("the question of another execution was kept")
	}
	g := must.Get(w.ledger().Gate(ctx, first.Waiting[0].ID))(t)
	if g.Decision == nil || g.Decision.Verdict != posthouse.Cancel {
		t.Fatalf("g.Decision %+v", g.Decision)
	}
	approve(t, w.ledger(), second.Waiting[0].ID)
	res := must.Get(app(w, order(w), nil).Resume(ctx, "t"))(t)
	if res.Output != "lamp charge2 ship1" {
		t.Fatal(res.Output)
	}
}

// Each execution of a thread sees what the one before it returned, the same in
// every pass, and a failed one does not change it.
func TestPreviousOutput(t *testing.T) {
	w, ctx, broken := newWorld(t), t.Context(), false
	a := app(w, func(ctx context.Context, n int) (int, error) {
		before, ok, err := flow.Previous[int](ctx)
		if err != nil || ok != (before != 0) {
			return 0, fmt.Errorf("previous is %d, %v, %w", before, ok, err)
		}
		if _, err := gate.Ask[struct{}](ctx, gate.Question{Name: "ok"}); err != nil {
			return 0, err
		}
		if broken {
			return 0, errBoom
		}
		return before + n, nil
	}, nil)
	sum := 0
	for _, n := range []int{20, 22, 100} {
		res := must.Get(a.Run(ctx, "t", n))(t)
		approve(t, w.ledger(), res.Waiting[0].ID)
		broken = n == 100
		res, err := a.Resume(ctx, "t")
		if broken {
			must.Fail(t, err, errBoom)
			continue
		}
		sum += n
		if wantStatus(t, res, err, posthouse.StatusDone); res.Output != sum {
			t.Fatalf("%d, want %d", res.Output, sum)
		}
	}
	broken = false
	if res := must.Get(a.Resume(ctx, "t"))(t); res.Output != 142 {
		t.Fatal(res.Output)
	}
	if !must.Get(a.State(ctx, "t"))(t).CreatedAt.Equal(w.clock()) {
		t.Fatal("the clock is not the ledger's")
	}
}

// Retries are on record: a restart neither gives the budget back nor hastens
// the next attempt. Atmosphere has "retrySucceedsWithinBudget" and "retryExhausted".
func TestRetryParksAndSurvivesARestart(t *testing.T) {
	for _, failures := range []int{2, 3} {
		w, ctx := newWorld(t), t.Context()
		fn := func(ctx context.Context, _ int) (string, error) {
			return step.DoWith(ctx, "call", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: time.Minute}}, func(context.Context) (string, error) {
				if v := w.effect("call"); w.did["call"] > failures {
					return v, nil
				}
				return "", errBoom
			})
		}
		res, err := app(w, fn, nil).Run(ctx, "t", 1)
		wantStatus(t, res, err, posthouse.StatusWaiting)
		res, err = app(w, fn, nil).Resume(ctx, "t")
		wantStatus(t, res, err, posthouse.StatusWaiting)
		w.want("[call]")
		w.advance(time.Minute)
		res, err = app(w, fn, nil).Resume(ctx, "t")
		wantStatus(t, res, err, posthouse.StatusWaiting)
		w.want("[call call]")
		w.advance(2 * time.Minute)
		res, err = app(w, fn, nil).Resume(ctx, "t")
		w.want("[call call call]")
		if failures == 2 {
			wantStatus(t, res, err, posthouse.StatusDone)
		} else {
			must.Fail(t, err, errBoom)
		}
	}
}

// A sleep or retry that is due soon is waited for in the process, after its
// checkpoint.
func TestShortWaitsAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := must.Get(ledger.Open(w.store, nil))(t)
		f := flow.New("order", func(ctx context.Context, _ int) (string, error) {
			if err := step.Sleep(ctx, "nap", 5*time.Second); err != nil {
				return "", err
			}
			if _, err := w.do(ctx, "a"); err != nil {
				return "", err
			}
			return step.DoWith(ctx, "call", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: time.Second}}, func(context.Context) (string, error) {
				if v := w.effect("call"); w.did["call"] > 1 {
					return v, nil
				}
				return "", errBoom
			})
		})
		a := must.Get(f.Open(l, nil))(t)
		began := time.Now()
		res, err := a.Run(t.Context(), "t", 1)
		wantStatus(t, res, err, posthouse.StatusDone)
		if d := time.Since(began); d < 6*time.Second || d > 7*time.Second {
			t.Fatal("it took", d)
		}
		w.want("[a call call]")
		if got := steps(t, a, "t"); got != "input wait a call node " {
			t.Fatal(got)
		}

		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(errBoom) })
		_, err = a.Run(ctx, "t", 1)
		must.Fail(t, err, errBoom)
		drain := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(drain) })
		res, err = a.Resume(engine.WithDrain(t.Context(), drain), "t")
		wantStatus(t, res, err, posthouse.StatusWaiting)
		res, err = a.Resume(t.Context(), "t")
		wantStatus(t, res, err, posthouse.StatusDone)
		w.want("[a call call a call]")
	})
}

// A signal that is there already when a step takes it is taken once, also if the
// step is tried again at once.
func TestRetriedStepKeepsItsSignal(t *testing.T) {
	for _, latch := range []bool{false, true} {
		w, n := newWorld(t), 0
		l := w.ledger()
		send := func(value string) {
			t.Helper()
			must.Get(l.Signal(t.Context(), "t", posthouse.Signal{Name: "s", Value: []byte(value), Early: true}))(t)
		}
		a := app(w, func(ctx context.Context, _ int) (string, error) {
			return step.DoWith(ctx, "outer", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}}, func(ctx context.Context) (string, error) {
				v, err := step.Signal[string](ctx, "s", step.SignalOptions{Latch: latch})
				if n++; n == 1 && err == nil {
					send(`"two"`)
					return "", errBoom
				}
				return v, err
			})
		}, nil)
		send(`"one"`)
		res, err := a.Run(t.Context(), "t", 1)
		if wantStatus(t, res, err, posthouse.StatusDone); res.Output != "one" || n != 2 {
			t.Errorf("latch %v: %q after %d attempts", latch, res.Output, n)
		}
	}
}

// Asked to drain, the flow stops before its next step and goes on from there.
func TestDrainStopsBetweenSteps(t *testing.T) {
	w := newWorld(t)
	drain := make(chan struct{})
	fn := func(ctx context.Context, _ int) (string, error) {
		a, err := step.Do(ctx, "a", func(context.Context) (string, error) { close(drain); return w.effect("a"), nil })
		if err != nil {
			return "", err
		}
		b, _ := w.do(ctx, "b") // swallows the error
		return a + b, nil
	}
	a := app(w, fn, nil)
	res, err := a.Run(engine.WithDrain(t.Context(), drain), "t", 1)
	wantStatus(t, res, err, posthouse.StatusRunning)
	w.want("[a]")
	if err := a.Advance(engine.WithDrain(t.Context(), drain), "t", ""); err != nil {
		t.Fatal(err)
	}
	res, err = app(w, fn, nil).Resume(t.Context(), "t")
	if wantStatus(t, res, err, posthouse.StatusDone); res.Output != "a1b1" {
		t.Fatal(res.Output)
	}
	w.want("[a b]")
}

// One that has come further since it waited, without a checkpoint, does not say
// that it waits.
func TestDrainAfterAWait(t *testing.T) {
	w, drain := newWorld(t), make(chan struct{})
	a := app(w, func(ctx context.Context, _ int) (string, error) {
		if err := step.Sleep(ctx, "nap", time.Hour); err != nil {
			return "", err
		}
		if _, err := step.Do(ctx, "a", func(context.Context) (string, error) { close(drain); return "", nil }); err != nil {
			return "", err
		}
		return w.do(ctx, "b")
	}, &flow.Options{HoldFor: -1, FewCheckpoints: true})
	res, err := a.Run(t.Context(), "t", 1)
	wantStatus(t, res, err, posthouse.StatusWaiting)
	w.advance(time.Hour)
	res, err = a.Resume(engine.WithDrain(t.Context(), drain), "t")
	wantStatus(t, res, err, posthouse.StatusRunning)
}

// A context that ends leaves the thread to be resumed.
func TestContextEnds(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	a := app(w, func(ctx context.Context, _ int) (string, error) {
		if _, err := w.do(ctx, "a"); err != nil {
			return "", err
		}
		cancel(errBoom)
		return w.do(ctx, "b")
	}, nil)
	_, err := a.Run(ctx, "t", 1)
	must.Fail(t, err, errBoom)
	if s := must.Get(a.State(t.Context(), "t"))(t); s.Status != posthouse.StatusRunning {
		t.Fatal(s.Status)
	}
	res, err := a.Resume(t.Context(), "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	w.want("[a b]")
}

// A cancel ends the function's context, refuses its next step and ends the
// branch, whether the function heeds it or not.
func TestCancelEndsARun(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		w := newWorld(t)
		l := w.ledger()
		started, cancelled := make(chan struct{}), make(chan struct{})
		f := flow.New("order", func(ctx context.Context, _ int) (string, error) {
			v, err := step.Do(ctx, "a", func(ctx context.Context) (string, error) {
				close(started)
				if heeds {
					<-ctx.Done()
					return "", context.Cause(ctx)
				}
				<-cancelled
				return w.effect("a"), nil
			})
			if err != nil {
				return "", err
			}
			b, err := w.do(ctx, "b")
			return v + b, err
		})
		a := must.Get(f.Open(l, nil))(t)
		type end struct {
			res *flow.Result[string]
			err error
		}
		ended := make(chan end)
		go func() {
			res, err := a.Run(t.Context(), "t", 1)
			ended <- end{res, err}
		}()
		<-started
		if _, err := l.Cancel(t.Context(), "t", &ledger.CancelOptions{By: "alice", Reason: "enough"}); err != nil {
			t.Fatal(err)
		}
		close(cancelled)
		e := <-ended
		wantStatus(t, e.res, e.err, posthouse.StatusCancelled)
		if w.did["b"] != 0 {
			t.Fatal("a step ran behind the cancel")
		}
		s := must.Get(a.State(t.Context(), "t"))(t)
		if s.Status != posthouse.StatusCancelled || s.Kind != posthouse.KindCancel {
			t.Fatalf("s.Header %+v", s.Header)
		}
		res, err := a.Resume(t.Context(), "t")
		wantStatus(t, res, err, posthouse.StatusCancelled)
	}
}

// A thread that waits is cancelled without anybody running it.
func TestCancelOfAWaitingFlow(t *testing.T) {
	w := newWorld(t)
	a := app(w, order(w), nil)
	must.Get(a.Run(t.Context(), "t", "book"))(t)
	if _, err := w.ledger().Cancel(t.Context(), "t", nil); err != nil {
		t.Fatal(err)
	}
	res, err := app(w, order(w), nil).Resume(t.Context(), "t")
	wantStatus(t, res, err, posthouse.StatusCancelled)
	w.want("[charge]")
}

// Steps at once ask at once; answered one by one, each goes on by itself.
func TestParallelStepsAskAtOnce(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	fn := func(ctx context.Context, names []string) ([]string, error) {
		return step.Map(ctx, "review", names, func(ctx context.Context, name string) (string, error) {
			if _, err := w.do(ctx, "draft "+name); err != nil {
				return "", err
			}
			a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "ok"})
			if err != nil {
				return "", err
			}
			return w.effect(name + " " + string(a.Verdict)), nil
		}, step.GroupOptions{Concurrency: 1})
	}
	names := []string{"x", "y", "z"}
	res, err := app(w, fn, nil).Run(ctx, "t", names)
	wantStatus(t, res, err, posthouse.StatusWaiting)
	if len(res.Waiting) != 3 {
		t.Fatalf("%d questions", len(res.Waiting))
	}
	gates := res.Waiting
	w.want("[draft x draft y draft z]")
	for i := 2; i > 0; i-- {
		approve(t, w.ledger(), gates[i].ID)
		res, err = app(w, fn, nil).Resume(ctx, "t")
		wantStatus(t, res, err, posthouse.StatusWaiting)
		if len(res.Waiting) != i {
			t.Fatalf("%d questions, want %d", len(res.Waiting), i)
		}
		for j, g := range res.Waiting {
			if g.ID != gates[j].ID {
				t.Fatal("a question that was open was asked anew")
			}
		}
	}
	approve(t, w.ledger(), gates[0].ID)
	res, err = app(w, fn, nil).Resume(ctx, "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	w.want("[draft x draft y draft z z approve y approve x approve]")
	if fmt.Sprint(res.Output) != "[x approve1 y approve1 z approve1]" {
		t.Fatal(res.Output)
	}
}

// One step that fails leaves what the others ask open.
func TestFailureKeepsOpenQuestions(t *testing.T) {
	w, ctx, broken := newWorld(t), t.Context(), false
	fn := func(ctx context.Context, _ int) (string, error) {
		if broken {
			return "", errBoom
		}
		a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "a"})
		if err != nil {
			if _, err := gate.Ask[struct{}](ctx, gate.Question{Name: "b"}); err != nil {
				return "", err
			}
		}
		return string(a.Verdict), nil
	}
	res := must.Get(app(w, fn, nil).Run(ctx, "t", 1))(t)
	if len(res.Waiting) != 2 {
		t.Fatalf("res.Waiting %+v", res.Waiting)
	}
	approve(t, w.ledger(), res.Waiting[1].ID)
	broken = true
	_, err := app(w, fn, nil).Resume(ctx, "t")
	must.Fail(t, err, errBoom)
	broken = false
	again, err := app(w, fn, nil).Resume(ctx, "t")
	wantStatus(t, again, err, posthouse.StatusWaiting)
	if again.Waiting[0].ID != res.Waiting[0].ID {
		t.Fatal("the question was asked anew")
	}
	approve(t, w.ledger(), res.Waiting[0].ID)
	if done := must.Get(app(w, fn, nil).Resume(ctx, "t"))(t); done.Output != "approve" {
		t.Fatalf("done %+v", done)
	}
}

// A runner wakes flows that are due and goes on with decided ones.
func TestRunnerKeepsFlowsMoving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := must.Get(ledger.Open(w.store, nil))(t)
		f := flow.New("order", func(ctx context.Context, _ int) (string, error) {
			if err := step.Sleep(ctx, "day", 24*time.Hour); err != nil {
				return "", err
			}
			return order(w)(ctx, "book")
		})
		a := must.Get(f.Open(l, nil))(t)
		r := must.Get(runner.New(l, &runner.Options{Programs: []posthouse.Program{a}}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		res, err := a.Run(ctx, "t", 1)
		wantStatus(t, res, err, posthouse.StatusWaiting)
		time.Sleep(25 * time.Hour) // of the bubble
		w.want("[charge]")
		res = must.Get(a.Result(ctx, "t"))(t)
		if len(res.Waiting) != 1 || res.Waiting[0].Name != "ship" {
			t.Fatalf("result %+v", res)
		}
		d := must.Get(l.Decide(ctx, res.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
		if h := must.Get(r.Wait(ctx, "t", "", d.Decision.Seq))(t); h.Status != posthouse.StatusDone {
			t.Fatalf("%+v", h)
		}
		w.want("[charge ship]")
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}
