package workertest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
	"github.com/posthouse/posthouse/worker/workertest"
)

// count counts the items it is given, and goes on where it stopped.
func count(t worker.LoopTask) error {
	done, _, err := worker.Load[int](t)
	if err != nil {
		return err
	}
	for ; done < 3; done++ {
		if done == 2 && t.Attempt() == 1 {
			return t.Fail(errors.New("the disk is full"))
		}
		if err := worker.Save(t, done+1); err != nil {
			return err
		}
	}
	return t.Complete(done)
}

// A handler is called as often as an engine would call it.
func Example() {
	t := workertest.NewTask("three items")
	fmt.Println(count(t), t.Verdict().Action, t.Verdict().Reason, len(t.Checkpoints()))
	t = t.Again()
	fmt.Println(count(t), t.Verdict().Action, string(t.Verdict().Output), len(t.Checkpoints()))
	// Output:
	// <nil> fail the disk is full 2
	// <nil> complete 3 1
}

// record records steps with results of so many bytes and two quotes.
func record(t worker.Task, sizes ...int) (errs []error) {
	for _, n := range sizes {
		_, err := step.Do(t.Context(), "s", func(context.Context) (string, error) { return strings.Repeat("x", n), nil })
		errs = append(errs, err)
	}
	return errs
}

func TestTaskEnforcesWhatAnEngineWould(t *testing.T) {
	d := workertest.NewTask(1)
	if err := d.Pause("nap", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := d.Complete(1); !errors.Is(err, worker.ErrSecondVerdict) {
		t.Errorf("a second verdict: %v", err)
	}
	if err := d.Checkpoint(nil); !errors.Is(err, posthouse.ErrConflict) {
		t.Errorf("a checkpoint behind the verdict: %v", err)
	}
	d = d.Again()
	if d.Resumed() != "nap" || d.Attempt() != 1 {
		t.Errorf("d.Claim %+v", d.Claim)
	}
	for what, err := range map[string]error{
		"a pause of nothing": d.Pause("", time.Hour), "no time": d.Pause("x", 0), "negative": d.Pause("x", -1),
		"a large state": d.Checkpoint(make([]byte, task.MaxSlot+1)), "a large chunk": d.Stream(string(make([]byte, task.MaxChunk))),
		"a channel": d.Complete(make(chan int)),
	} {
		if !errors.Is(err, posthouse.ErrInvalid) && !errors.Is(err, posthouse.ErrTooLarge) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, err := range record(d, task.MaxStep-1) {
		if !errors.Is(err, posthouse.ErrTooLarge) {
			t.Errorf("a large step: %v", err)
		}
	}
	if errs := record(d, slices.Repeat([]int{task.MaxStep - 2}, 33)...); errors.Join(errs[:31]...) != nil || !errors.Is(errs[32], posthouse.ErrTooLarge) {
		t.Errorf("many steps: %v", errs)
	}
	if err := errors.Join(d.Continue("x"), d.Again().Stream(1), d.Again().SendSignal("t", "s", 1)); err != nil {
		t.Error(err)
	}
	d = d.Again()
	if d.Iteration() != 1 || string(d.Continued()) != `"x"` || string(d.Input()) != "1" {
		t.Errorf("d.Claim %+v", d.Claim)
	}
	d.Claim.NoSlot = true
	if err := d.Checkpoint([]byte("x")); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("without a slot: %v", err)
	}
	if state, err := d.LoadCheckpoint(); state != nil || err != nil {
		t.Errorf("state %q, error %v", state, err)
	}
	d.Lose()
	if err := d.Complete(1); !errors.Is(err, worker.ErrLost) || !errors.Is(context.Cause(d.Context()), worker.ErrLost) {
		t.Errorf("a lost task: %v", err)
	}
	if d.Verdict() != nil {
		t.Error("a lost task has a verdict")
	}
}

// TestWaits runs a handler again that asks and waits: steps and answers come back, and the
// attempt stays.
func TestWaits(t *testing.T) {
	done := 0
	h := func(t worker.Task) error {
		n, err := step.Do(t.Context(), "charge", func(context.Context) (int, error) { done++; return done, nil })
		if err != nil {
			return err
		}
		a, err := gate.Ask[struct{}](t.Context(), gate.Question{Name: "ship", Text: "Ship it?"})
		if err != nil {
			return err
		}
		paid, err := t.WaitSignal("paid", time.Hour)
		if err != nil {
			return err
		}
		return t.Complete(fmt.Sprint(n, a.By, string(paid)))
	}
	w := workertest.NewTask(nil)
	if err := h(w); !errors.Is(err, posthouse.ErrWaiting) || len(w.Thread().Asked()) != 1 || w.Thread().Asked()[0].Text != "Ship it?" {
		t.Fatalf("error %v, w.Thread().Asked() %+v", err, w.Thread().Asked())
	}
	w.Thread().Answer("ship", posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	w = w.Again()
	if err := h(w); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal(err)
	}
	w.Thread().Signal("paid", 20)
	w = w.Again()
	if err := h(w); err != nil || string(w.Verdict().Output) != `"1alice20"` || w.Attempt() != 1 {
		t.Errorf("%v, attempt %d, %+v", err, w.Attempt(), w.Verdict())
	}
	if err := w.Again().Context().Err(); err != nil {
		t.Error(err)
	}
}
