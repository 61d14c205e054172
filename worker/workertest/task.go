// Package workertest tests handlers without an engine.
//
//	t := workertest.NewTask(Order{Item: "lamp"})
//	err := handler(t)
//	if v := t.Verdict(); v == nil || v.Action != task.Complete { ... }
//
// A [Task] remembers what a handler does with it, and enforces what an engine would: one
// verdict, limits, nothing after the end.
package workertest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

// A Sent is a signal that a handler sent.
type Sent struct {
	Thread, Name string
	Value        json.RawMessage
}

// A Task is a [worker.Task] in memory. It is safe for concurrent use. Change Claim before
// the handler runs, for another attempt, iteration or pause.
type Task struct {
	Claim task.Claim

	// Err, if set, is what every verb returns that reaches an engine, as if that were away.
	Err error

	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	verdict *task.Verdict
	state   []byte
	states  [][]byte
	chunks  []json.RawMessage
	signals []Sent
	scope   *scope
}

var _ worker.Task = (*Task)(nil)

// Notes returns what the handler noted in this execution, also in its steps.
func (t *Task) Notes() []posthouse.Note { return t.scope.notes.Notes() }

// NewTask returns the first attempt of a task. It panics if the input does not encode.
func NewTask(input any) *Task {
	b, err := json.Marshal(input)
	if err != nil {
		panic("workertest: the input does not encode: " + err.Error())
	}
	t := &Task{Claim: task.Claim{
		ID: task.ClaimID{Gate: "gate-1", Fence: 1}, Thread: "thread", Step: "1/step", Call: "gate-1", Task: "task", Input: b, Attempt: 1,
	}}
	t.begin(&scope{steps: map[string]posthouse.Value{}})
	return t
}

// begin begins an execution that finds what is in a scope.
func (t *Task) begin(s *scope) {
	s.calls = map[string]int{}
	t.scope = s
	t.ctx, t.cancel = context.WithCancelCause(handler.With(context.Background(), s))
}

// Again returns the next attempt of a task that failed, the next iteration, or the same
// attempt after a pause or a wait, with what the handler kept, recorded and was given.
func (t *Task) Again() *Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &Task{Claim: t.Claim, state: slices.Clone(t.state)}
	n.Claim.ID.Fence++
	n.Claim.Paused = ""
	switch v := t.verdict; {
	case v == nil && t.scope.waits(): // the handler was parked
	case v == nil:
		n.Claim.Attempt++
	case v.Action == task.Continue:
		n.Claim.Iteration, n.Claim.Continued, n.Claim.Attempt, n.Claim.Failure = t.Claim.Iteration+1, v.Output, 1, ""
	case v.Action == task.Pause:
		n.Claim.Paused = v.Name
	default:
		n.Claim.Attempt, n.Claim.Failure = t.Claim.Attempt+1, v.Reason
	}
	n.begin(t.scope.again(t.verdict != nil && t.verdict.Action == task.Continue))
	return n
}

// Lose ends the task's context, as when another worker has it: [worker.ErrLost].
func (t *Task) Lose() { t.cancel(worker.ErrLost) }

// Verdict returns the verdict, nil until it is given.
func (t *Task) Verdict() *task.Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.verdict
}

// Checkpoints returns what was kept, oldest first.
func (t *Task) Checkpoints() [][]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.states)
}

// Context implements [worker.Task].
func (t *Task) Context() context.Context { return t.ctx }

// Input implements [worker.Task].
func (t *Task) Input() json.RawMessage { return t.Claim.Input }

// RunID implements [worker.Task].
func (t *Task) RunID() string { return t.Claim.Thread }

// StepID implements [worker.Task].
func (t *Task) StepID() string { return t.Claim.Step }

// TaskName implements [worker.Task].
func (t *Task) TaskName() string { return t.Claim.Task }

// Attempt implements [worker.Task].
func (t *Task) Attempt() int { return t.Claim.Attempt }

// LastFailure implements [worker.Task].
func (t *Task) LastFailure() string { return t.Claim.Failure }

// Metadata implements [worker.Task].
func (t *Task) Metadata() map[string]string { return t.Claim.Metadata }

// Trace implements [worker.Task].
func (t *Task) Trace() map[string]string { return t.Claim.Trace }

// Key implements [worker.Task].
func (t *Task) Key() string { return string(t.Claim.Call) }

// Resumed implements [worker.Task].
func (t *Task) Resumed() string { return t.Claim.Paused }

// Iteration implements [worker.Task].
func (t *Task) Iteration() int { return t.Claim.Iteration }

// Continued implements [worker.Task].
func (t *Task) Continued() json.RawMessage { return t.Claim.Continued }

// Heartbeat implements [worker.Task].
func (t *Task) Heartbeat() error { return context.Cause(t.ctx) }

// Complete implements [worker.Task].
func (t *Task) Complete(output any) error { return t.giveOutput(task.Complete, output) }

// Continue implements [worker.Task].
func (t *Task) Continue(value any) error { return t.giveOutput(task.Continue, value) }

// Fail implements [worker.Task].
func (t *Task) Fail(err error) error {
	return t.giveFailure(err, t.failure(task.Verdict{Action: task.Fail, Reason: err.Error()}, err))
}

// FailPermanent implements [worker.Task].
func (t *Task) FailPermanent(err error) error {
	return t.giveFailure(err, t.failure(task.Verdict{Action: task.FailPermanent, Reason: err.Error()}, err))
}

// RetryAfter implements [worker.Task].
func (t *Task) RetryAfter(err error, d time.Duration) error {
	return t.giveFailure(err, t.failure(task.Verdict{Action: task.RetryAfter, Reason: err.Error(), Delay: d}, err))
}

// giveFailure gives a verdict with an error. One of a wait that is not over parks the task, which
// is no verdict.
func (t *Task) giveFailure(err error, v task.Verdict) error {
	if errors.Is(err, posthouse.ErrWaiting) && t.scope.waits() {
		return t.reach()
	}
	return t.give(v)
}

// failure returns the verdict of a handler that failed, as a worker sends it: of an effect
// under a grant (Claim.Grant) only the handler's word says that it did not happen (gate.NotDone).
func (t *Task) failure(v task.Verdict, err error) task.Verdict {
	if t.Claim.Grant != "" && effect.IsNotDone(err) {
		v.NotDone = true
		return v
	}
	if t.Claim.Grant == "" || !task.Unclear(err) {
		return v
	}
	return task.Verdict{Action: task.Unknown, Reason: v.Reason}
}

// Pause implements [worker.Task].
func (t *Task) Pause(name string, d time.Duration) error {
	return t.give(task.Verdict{Action: task.Pause, Name: name, Delay: d})
}

func (t *Task) giveOutput(action task.Action, output any) error {
	b, err := task.EncodeOutput(output)
	if err != nil {
		return err
	}
	return t.give(task.Verdict{Action: action, Output: b})
}

func (t *Task) give(v task.Verdict) error {
	if err := v.Check(); err != nil {
		return err
	}
	if err := t.reach(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.verdict != nil {
		return worker.ErrSecondVerdict
	}
	t.verdict = &v
	return nil
}

// reach returns why the engine does not take a call.
func (t *Task) reach() error {
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	return t.Err
}

// Checkpoint implements [worker.Task].
func (t *Task) Checkpoint(state []byte) error {
	if err := t.reach(); err != nil {
		return err
	}
	switch {
	case t.Claim.NoSlot:
		return &posthouse.Error{Code: posthouse.CodeUnsupported, Field: "slot", Message: "is not there for the task", Hint: "unset NoSlot where it is handed out"}
	case len(state) > task.MaxSlot:
		return posthouse.TooLarge("slot", len(state), task.MaxSlot)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.verdict != nil {
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: "the execution has its verdict"}
	}
	t.state = append([]byte{}, state...)
	t.states = append(t.states, t.state)
	return nil
}

// LoadCheckpoint implements [worker.Task].
func (t *Task) LoadCheckpoint() ([]byte, error) {
	if err := t.reach(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.state), nil
}

// Stream implements [worker.Task].
func (t *Task) Stream(chunk any) error {
	b, err := json.Marshal(chunk)
	switch {
	case err != nil:
		return posthouse.Invalid("chunk", "does not encode: %v", err)
	case len(b) > task.MaxChunk:
		return posthouse.TooLarge("chunk", len(b), task.MaxChunk)
	}
	if err := t.reach(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.chunks = append(t.chunks, b)
	return nil
}

// SendSignal implements [worker.Task].
func (t *Task) SendSignal(thread, name string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return posthouse.Invalid("value", "of signal %.40q does not encode: %v", name, err)
	}
	if err := t.reach(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.signals = append(t.signals, Sent{thread, name, b})
	return nil
}
