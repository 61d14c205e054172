package flow_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

func modes(m ...runs.StreamMode) flow.RunOptions { return flow.RunOptions{Modes: m} }

// heard reads a stream to its end, and lists what show says of each event.
func heard[In, Out any](tb testing.TB, stream iter.Seq2[flow.Event[In, Out], error], show func(*flow.Event[In, Out]) string) (events []flow.Event[In, Out], list string, err error) {
	tb.Helper()
	var shown []string
	for e, failed := range stream {
		if failed != nil {
			return events, strings.Join(shown, ", "), failed
		}
		events, shown = append(events, e), append(shown, show(&e))
	}
	return events, strings.Join(shown, ", "), nil
}

// told shows an event as "kind node step attempt", without what is zero.
func told[In, Out any](e *flow.Event[In, Out]) string {
	s := string(e.Kind)
	if e.Node != "" {
		s += " " + e.Node
	}
	if e.Step != "" && e.Step != e.Node {
		s += "/" + e.Step
	}
	if e.Attempt > 0 {
		s += fmt.Sprint(" ", e.Attempt)
	}
	return s
}

func wantTold(tb testing.TB, what, got, want string) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s: told\n\t%s\nwant\n\t%s", what, got, want)
	}
}

// The interruption is an element and the result; what is on record is not told
// again.
func TestStreamValues(t *testing.T) {
	w := newWorld(t)
	a := app(w, order(w), nil)
	events, list, err := heard(t, a.Stream(t.Context(), "t", "book"), told)
	if wantTold(t, "first", list, "input, node charge, park order"); err != nil {
		t.Fatal(err)
	}
	for i, e := range events[:2] {
		if e.Mode != runs.StreamValues || e.Input != "book" || e.Output != "" || e.Checkpoint.Thread != "t" || e.Result != nil {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	if step := must.Get(a.State(t.Context(), "t", flow.StateOptions{Node: "charge"}))(t); events[1].Checkpoint.ID != step.ID || events[1].Task != "1/order" {
		t.Errorf("the step's event is %+v", events[1])
	}
	park := events[2]
	if park.Result.Status != posthouse.StatusWaiting || park.Checkpoint.ID != park.Result.Checkpoint || len(park.Result.Waiting) != 1 || park.Mode != "" {
		t.Fatalf("the interruption is %+v", park)
	}
	_, list, _ = heard(t, a.ResumeStream(t.Context(), "t"), told)
	wantTold(t, "undecided", list, "park order")
	approve(t, w.ledger(), park.Result.Waiting[0].ID)
	events, list, _ = heard(t, a.ResumeStream(t.Context(), "t"), told)
	wantTold(t, "decided", list, "node ship, node order, end order")
	for _, e := range events[1:] {
		if e.Output != "book charge1 ship1" || e.Checkpoint.Status != posthouse.StatusDone {
			t.Errorf("the end is %+v", e)
		}
	}
	_, list, _ = heard(t, a.ResumeStream(t.Context(), "t"), told)
	wantTold(t, "finished", list, "end order")
	w.want("[charge ship]")
}

// TestEachModeYieldsEvents runs a step that has something to report in every mode.
func TestEachModeYieldsEvents(t *testing.T) {
	w := newWorld(t)
	a := app(w, func(ctx context.Context, n int) (string, error) {
		return step.Do(ctx, "price", func(ctx context.Context) (string, error) {
			step.Token(ctx, "word")
			step.Emit(ctx, 1)
			return "sum", nil
		})
	}, nil)
	for i, mode := range runs.StreamModes() {
		events, list, err := heard(t, a.Stream(t.Context(), fmt.Sprint("mode-", i), 1, modes(mode)), told)
		if err != nil || !slices.ContainsFunc(events, func(e flow.Event[int, string]) bool { return e.Mode == mode }) {
			t.Errorf("mode %s yields no event, only %s; error %v", mode, list, err)
		}
	}
}

func TestStreamUpdates(t *testing.T) {
	for _, few := range []bool{false, true} {
		w := newWorld(t)
		a := app(w, func(ctx context.Context, n int) (string, error) {
			for range n {
				if _, err := step.Do(ctx, "price", func(ctx context.Context) (string, error) { return w.do(ctx, "ask") }); err != nil {
					return "", err
				}
			}
			return "sum", nil
		}, &flow.Options{FewCheckpoints: few})
		_, list, err := heard(t, a.Stream(t.Context(), "t", 2, modes(runs.StreamUpdates)), func(e *flow.Event[int, string]) string {
			return fmt.Sprintf("%s %s", told(e), e.Updates[strings.Replace(e.Node, "order", "output", 1)].Data)
		})
		wantTold(t, fmt.Sprint("few ", few), list, `update price "ask1", update price/price[1] "ask2", update order "sum", end order `)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestStreamMessages(t *testing.T) {
	w := newWorld(t)
	fails := true
	a := app(w, func(ctx context.Context, _ int) (int, error) {
		step.Token(ctx, "a")
		if _, err := step.DoWith(ctx, "llm", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}}, func(ctx context.Context) (int, error) {
			step.Token(ctx, "b")
			if fails {
				fails = false
				return 0, errBoom
			}
			return step.Do(ctx, "inner", func(ctx context.Context) (int, error) {
				step.Emit(ctx, 7)
				return 1, nil
			})
		}); err != nil {
			return 0, err
		}
		step.Token(ctx, "c")
		_, err := step.Signal[int](ctx, "go on", step.SignalOptions{})
		return 1, err
	}, nil)
	show := func(e *flow.Event[int, int]) string {
		return fmt.Sprintf("%s %s%v %d", told(e), e.Text, e.Value, e.Seq)
	}
	both := modes(runs.StreamCustom, runs.StreamMessages)
	_, list, err := heard(t, a.Stream(t.Context(), "t", 1, both), show)
	wantTold(t, "first", list, "message order 1 a<nil> 1, message llm 1 b<nil> 2, message llm 2 b<nil> 3, custom llm/llm>inner 1 7 4, message order 1 c<nil> 5, park order <nil> 0")
	if err != nil {
		t.Fatal(err)
	}
	must.Get(w.ledger().Signal(t.Context(), "t", posthouse.Signal{Name: "go on", Value: []byte("1")}))(t)
	_, list, _ = heard(t, a.ResumeStream(t.Context(), "t", both), show)
	wantTold(t, "the recorded step is silent", list, "message order 1 a<nil> 1, message order 1 c<nil> 2, end order <nil> 0")
	_, list, _ = heard(t, a.Stream(t.Context(), "u", 1, modes(runs.StreamCustom)), show)
	wantTold(t, "custom only", list, "custom llm/llm>inner 1 7 3, park order <nil> 0")
}

func TestStreamCheckpoints(t *testing.T) {
	w := newWorld(t)
	a := app(w, order(w), nil)
	events, list, _ := heard(t, a.Stream(t.Context(), "t", "book", modes(runs.StreamCheckpoints)), told)
	wantTold(t, "checkpoints", list, "checkpoint, checkpoint charge, checkpoint order, park order")
	i := len(events) - 1
	for s, err := range a.History(t.Context(), "t") {
		if i--; err != nil || events[i].Checkpoint.ID != s.ID || events[i].At.IsZero() {
			t.Errorf("event %+v, checkpoint %+v, %v", events[i], s, err)
		}
	}
	if i != 0 {
		t.Errorf("%d events are of no checkpoint", i)
	}
}

func TestStreamTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := must.Get(ledger.Open(w.store, nil))(t)
		a := must.Get(flow.New("order", func(ctx context.Context, n int) (string, error) {
			v, err := step.DoWith(ctx, "call", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: time.Second}}, func(context.Context) (string, error) {
				time.Sleep(time.Second)
				if v := w.effect("call"); w.did["call"] > 1 {
					return v, nil
				}
				return "", errBoom
			})
			if err != nil {
				return "", err
			}
			if err := step.Sleep(ctx, "nap", time.Minute); err != nil {
				return "", err
			}
			return step.Do(ctx, "fails", func(ctx context.Context) (string, error) {
				return step.Do(ctx, "inner", func(ctx context.Context) (string, error) { return v, errBoom })
			})
		}).Open(l, nil))(t)
		show := func(e *flow.Event[int, string]) string {
			s := told(e)
			if e.Err != nil {
				s += "!"
			}
			if e.Took > 0 {
				s += fmt.Sprint(" ", e.Took)
			}
			return s
		}
		events, list, err := heard(t, a.Stream(t.Context(), "t", 1, modes(runs.StreamTasks)), show)
		wantTold(t, "retried, then parked", list, "task.start order 1, task.start call 1, task.retry call 1! 1s, task.start call 2, task.finish call 2 1s, task.wait order 1 3s, park order")
		if err != nil {
			t.Fatal(err)
		}
		if e := events[2]; !errors.Is(e.Err, errBoom) || e.Due.Sub(e.At) < 999*time.Millisecond || e.Mode != runs.StreamTasks || e.Task != "1/order" {
			t.Errorf("the failed attempt is %+v", e)
		}
		time.Sleep(time.Minute)
		_, list, err = heard(t, a.ResumeStream(t.Context(), "t", modes(runs.StreamTasks)), show)
		wantTold(t, "failed", list, "task.start order 1, task.start fails 1, task.start fails/fails>inner 1, task.error fails/fails>inner 1!, task.error fails 1!, task.error order 1!")
		if !errors.Is(err, errBoom) {
			t.Error(err)
		}
		_, list, _ = heard(t, a.ResumeStream(t.Context(), "t", modes(runs.StreamDebug)), show)
		wantTold(t, "debug", list, "task.start order 1, task.start fails 1, task.start fails/fails>inner 1, task.error fails/fails>inner 1!, task.error fails 1!, task.error order 1!, checkpoint order")
	})
}

// Steps beside each other are told of whole, each as it goes on record.
func TestStreamOfStepsBeside(t *testing.T) {
	const n = 50
	w := newWorld(t)
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprint("i", i)
	}
	a := app(w, func(ctx context.Context, _ int) ([]string, error) {
		return step.Map(ctx, "price", items, func(ctx context.Context, i string) (string, error) { step.Token(ctx, i); return i, nil })
	}, nil)
	seen, text := map[string]int{}, map[string]string{}
	last := uint64(0)
	events, _, err := heard(t, a.Stream(t.Context(), "t", 1, modes(runs.StreamUpdates, runs.StreamCheckpoints, runs.StreamMessages)), told)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		switch e.Kind {
		case runs.EventUpdate:
			seen[e.Step]++
		case runs.EventMessage:
			text[e.Step] += e.Text
		case runs.EventCheckpoint:
			if e.Checkpoint.Seq <= last {
				t.Errorf("%d is told behind %d", e.Checkpoint.Seq, last)
			}
			last = e.Checkpoint.Seq
		}
	}
	for i, item := range items {
		call := "price"
		if i > 0 {
			call = fmt.Sprintf("price[%d]", i)
		}
		if seen[call] != 1 || text[call] != item {
			t.Errorf("%s was told %d times, its text is %q, not %q", call, seen[call], text[call], item)
		}
	}
	if out := events[len(events)-1].Output; len(out) != n || seen[""] != 1 {
		t.Errorf("the end has %q", out)
	}
}

// A reader that leaves stops the run after the last event that it saw.
func TestStreamIsLeft(t *testing.T) {
	for leave, did := range map[string]string{"": "[]", "a": "[a]", "b": "[a b]", "c": "[a b c]"} {
		w := newWorld(t)
		a := app(w, func(ctx context.Context, _ int) (string, error) {
			for _, name := range []string{"a", "b", "c"} {
				if _, err := w.do(ctx, name); err != nil {
					return "", err
				}
			}
			return "done", nil
		}, nil)
		for e, err := range a.Stream(t.Context(), "t", 1) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Node == leave {
				break
			}
		}
		w.want(did)
		if info := must.Get(w.ledger().Thread(t.Context(), "t"))(t); info.Lease.Held {
			t.Errorf("left at %q: the lease is held", leave)
		}
		res, err := a.Resume(t.Context(), "t")
		wantStatus(t, res, err, posthouse.StatusDone)
		w.want("[a b c]")
	}
}

// A step that runs while the reader leaves has its context ended and is waited
// for.
func TestStreamIsLeftInAStep(t *testing.T) {
	w := newWorld(t)
	ended := false
	a := app(w, func(ctx context.Context, _ int) (int, error) {
		return step.Do(ctx, "a", func(ctx context.Context) (int, error) {
			step.Token(ctx, "begun")
			<-ctx.Done()
			ended = true
			return 0, context.Cause(ctx)
		})
	}, nil)
	for e := range a.Stream(t.Context(), "t", 1, modes(runs.StreamMessages)) {
		if e.Text == "begun" {
			break
		}
	}
	if !ended {
		t.Error("the step goes on")
	}
	if s := must.Get(a.State(t.Context(), "t"))(t); s.Kind != posthouse.KindInput {
		t.Errorf("the head is %+v", s.Header)
	}
}

func TestStreamReaderPanics(t *testing.T) {
	w := newWorld(t)
	a := app(w, func(ctx context.Context, _ int) (string, error) { return w.do(ctx, "a") }, nil)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the reader's panic was swallowed")
			}
		}()
		for range a.Stream(t.Context(), "t", 1) {
			panic("reader")
		}
	}()
	must.Get(a.Resume(t.Context(), "t"))(t) // the lease was given back
}

func TestStreamRefuses(t *testing.T) {
	w := newWorld(t)
	a := app(w, func(context.Context, int) (int, error) { return 1, nil }, nil)
	for name, stream := range map[string]iter.Seq2[flow.Event[int, int], error]{
		"a mode":         a.Stream(t.Context(), "t", 1, modes("all")),
		"options twice":  a.Stream(t.Context(), "t", 1, flow.RunOptions{}, flow.RunOptions{}),
		"taking over":    a.ResumeStream(t.Context(), "t", flow.RunOptions{OnBusy: runs.Rollback}),
		"no such option": a.Stream(t.Context(), "t", 1, flow.RunOptions{OnBusy: 9}),
	} {
		if _, _, err := heard(t, stream, told); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := heard(t, a.ResumeStream(t.Context(), "nobody"), told); !errors.Is(err, posthouse.ErrNotFound) {
		t.Error(err)
	}
}

// A run that is cancelled ends its stream with that.
func TestStreamOfACancelledRun(t *testing.T) {
	w := newWorld(t)
	l := w.ledger()
	a := must.Get(flow.New("order", func(ctx context.Context, _ int) (string, error) {
		if _, err := w.do(ctx, "a"); err != nil {
			return "", err
		}
		return w.do(ctx, "b")
	}).Open(l, nil))(t)
	var list []string
	for e, err := range a.Stream(t.Context(), "t", 1, modes(runs.StreamDebug)) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, told(&e))
		if e.Kind == runs.EventTaskFinish && e.Node == "a" {
			must.Get(l.Cancel(t.Context(), "t", nil))(t)
		}
		if e.Result != nil && e.Result.Status != posthouse.StatusCancelled {
			t.Errorf("result %+v", e.Result)
		}
	}
	wantTold(t, "events", strings.Join(list, ", "), "checkpoint, task.start order 1, task.start a 1, task.finish a 1, checkpoint a, task.stop order 1, checkpoint a, end a")
	w.want("[a]")
}
