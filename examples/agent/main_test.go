package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/examples/internal/process"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker/workertest"
)

func TestMain(m *testing.M) {
	if process.Started() {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// TestAKilledWorkerRepeatsOnlyTheCurrentCall kills the worker's process in the middle of each
// call there is. The answer is that of a worker that lives.
func TestAKilledWorkerRepeatsOnlyTheCurrentCall(t *testing.T) {
	const answer = "How do I get to the sea? The train at 7:04 takes four hours. A room by the river is free. " +
		"The museum is closed on Monday. So leave on Saturday."
	kills := []int{0, 1, 2, 3, 4} // 0: no process is killed
	if testing.Short() {
		kills = []int{0, 2}
	}
	for _, kill := range kills {
		t.Run(fmt.Sprint("in call ", kill), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			have, err := show(t.Context(), t.Output(), dir, kill)
			if err != nil || have != answer {
				t.Errorf("got %q, error %v", have, err)
			}
			var want []string
			for n := 1; n <= 4; n++ {
				if n <= kill || kill == 0 {
					want = append(want, fmt.Sprintf("worker-1 makes call %d", n))
				}
				if n >= kill && kill > 0 {
					want = append(want, fmt.Sprintf("worker-2 makes call %d", n))
				}
			}
			if lines, err := calls(dir).Notes(); err != nil || !slices.Equal(lines, want) {
				t.Errorf("%v: the model has seen\n%q, want\n%q", err, lines, want)
			}
		})
	}
}

// TestTheHandlerAlone needs no engine: a model that is down, and a process that dies between
// the last Checkpoint and the verdict, cost no call that was made.
func TestTheHandlerAlone(t *testing.T) {
	m := &fakeModel{worker: "w", calls: process.Witness(filepath.Join(t.TempDir(), "calls"))}
	e, handle := workertest.NewTask("How?"), llmAgent(m.call)
	for turn := range 3 {
		if err := handle(e); err != nil || e.Verdict().Action != task.Continue || e.Iteration() != turn || len(e.Checkpoints()) != 1 {
			t.Fatalf("turn %d: %+v, %v", turn, e.Verdict(), err)
		}
		e = e.Again()
	}
	down := errors.New("the model is down")
	broken := llmAgent(func(context.Context, []Message) (Message, error) { return Message{}, down })
	if err := broken(e); err != nil || e.Verdict().Action != task.Fail || e.Verdict().Reason != down.Error() || len(e.Checkpoints()) != 0 {
		t.Errorf("e.Verdict() %+v, error %v", e.Verdict(), err)
	}
	e = e.Again()
	if err := handle(dying{e}); !errors.Is(err, errDied) || len(e.Checkpoints()) != 1 {
		t.Errorf("e.Verdict() %+v, error %v", e.Verdict(), err)
	}
	e = e.Again()
	if e.Attempt() != 3 || e.Iteration() != 3 {
		t.Errorf("attempt %d of iteration %d", e.Attempt(), e.Iteration())
	}
	if err := handle(e); err != nil || e.Verdict().Action != task.Complete {
		t.Errorf("e.Verdict() %+v, error %v", e.Verdict(), err)
	}
	if lines, err := m.calls.Notes(); err != nil || len(lines) != 4 {
		t.Errorf("lines %q, error %v", lines, err)
	}
}

var errDied = errors.New("the process is gone")

// A dying task is of a process that is killed before its verdict.
type dying struct{ *workertest.Task }

func (dying) Complete(any) error { return errDied }
