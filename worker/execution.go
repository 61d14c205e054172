package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/story"
	"github.com/posthouse/posthouse/task"
)

// An execution is the [Task] of a handler that runs.
type execution struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	run    *connection
	claim  *task.Claim

	records records
	notes   story.Notebook // from outside of steps, for the verdict

	mu      sync.Mutex
	given   bool // the verdict
	acted   bool // it had an output
	saves   uint64
	signals map[string]int
}

var _ Task = (*execution)(nil)

// Context implements [Task].
func (e *execution) Context() context.Context { return e.ctx }

// Input implements [Task].
func (e *execution) Input() json.RawMessage { return e.claim.Input }

// RunID implements [Task].
func (e *execution) RunID() string { return e.claim.Thread }

// StepID implements [Task].
func (e *execution) StepID() string { return e.claim.Step }

// TaskName implements [Task].
func (e *execution) TaskName() string { return e.claim.Task }

// Attempt implements [Task].
func (e *execution) Attempt() int { return e.claim.Attempt }

// LastFailure implements [Task].
func (e *execution) LastFailure() string { return e.claim.Failure }

// Metadata implements [Task].
func (e *execution) Metadata() map[string]string { return e.claim.Metadata }

// Trace implements [Task].
func (e *execution) Trace() map[string]string { return e.claim.Trace }

// Key implements [Task].
func (e *execution) Key() string { return cmp.Or(e.claim.Key, string(e.claim.Call)) }

// Resumed implements [Task].
func (e *execution) Resumed() string { return e.claim.Paused }

// Iteration implements [Task].
func (e *execution) Iteration() int { return e.claim.Iteration }

// Continued implements [Task].
func (e *execution) Continued() json.RawMessage { return e.claim.Continued }

// Complete implements [Task].
func (e *execution) Complete(output any) error { return e.giveOutput(task.Complete, output) }

// Continue implements [Task].
func (e *execution) Continue(value any) error { return e.giveOutput(task.Continue, value) }

func (e *execution) giveOutput(action task.Action, output any) error {
	e.mu.Lock()
	e.acted = true // whatever becomes of the output
	e.mu.Unlock()
	b, err := task.EncodeOutput(output)
	if err != nil {
		return err
	}
	return e.give(task.Verdict{Action: action, Output: b})
}

// Fail implements [Task].
func (e *execution) Fail(err error) error {
	return e.giveFailure(err, e.failure(task.Verdict{Action: task.Fail, Reason: reasonOf(err)}, err))
}

// FailPermanent implements [Task].
func (e *execution) FailPermanent(err error) error {
	return e.giveFailure(err, e.failure(task.Verdict{Action: task.FailPermanent, Reason: reasonOf(err)}, err))
}

// RetryAfter implements [Task].
func (e *execution) RetryAfter(err error, d time.Duration) error {
	return e.giveFailure(err, e.failure(task.Verdict{Action: task.RetryAfter, Reason: reasonOf(err), Delay: d}, err))
}

// giveFailure gives a verdict with an error. An error of a wait that is not over parks the task: the
// handler did not fail.
func (e *execution) giveFailure(err error, v task.Verdict) error {
	waits := e.records.parked(err)
	if waits == nil {
		return e.give(v)
	}
	refused := e.park(waits)
	if !isRefused(refused) {
		return refused
	}
	return e.give(task.Verdict{Action: task.Fail, Reason: reasonOf(refused)}) // a question that no engine asks
}

// park ends the execution until what the handler waits for is over.
func (e *execution) park(waits []task.Wait) error {
	if err := e.records.keepDue(); err != nil {
		return err
	}
	return e.give(task.Verdict{Action: task.Await, Waits: waits})
}

// failure returns the verdict of a handler that failed: for good, if another attempt would end in the
// same way, after a failure that stands. Of an effect under a grant only the
// handler's word (gate.NotDone) says that it did not happen, unless the handler gave an output or
// panicked. All else leaves that open.
func (e *execution) failure(v task.Verdict, err error) task.Verdict {
	if (v.Action == task.Fail || v.Action == task.RetryAfter) && e.records.isOver() {
		v.Action, v.Delay = task.FailPermanent, 0
	}
	e.mu.Lock()
	acted := e.acted
	e.mu.Unlock()
	var p panicError
	if !acted && !errors.As(err, &p) && effect.IsNotDone(err) {
		v.NotDone = true
		return v
	}
	if unclear := acted || err == nil || errors.As(err, &p) || task.Unclear(err); e.claim.Grant == "" || !unclear {
		return v
	}
	return task.Verdict{Action: task.Unknown, Reason: v.Reason}
}

// Pause implements [Task].
func (e *execution) Pause(name string, d time.Duration) error {
	return e.give(task.Verdict{Action: task.Pause, Name: name, Delay: d})
}

// give sends a verdict, until the engine has answered or the session is over, even if the
// execution has been cancelled. A verdict that does not fit does not count: another may
// be given.
func (e *execution) give(v task.Verdict) error {
	if v.Action != task.Await && v.Action != task.Abandon {
		v.Notes = append(v.Notes, e.notes.Notes()...)
	}
	if err := v.Check(); err != nil {
		return err
	}
	e.mu.Lock()
	if e.given {
		e.mu.Unlock()
		return ErrSecondVerdict
	}
	e.given = true
	e.mu.Unlock()
	err := e.run.repeat(e.run.ctx, func(ctx context.Context) error { return e.run.worker.engine.Resolve(ctx, e.claim.ID, v) })
	if isRefused(err) {
		e.mu.Lock()
		e.given = false
		e.mu.Unlock()
	}
	return err
}

// isRefused reports whether an error says that a verdict does not fit.
func isRefused(err error) bool {
	return errors.Is(err, posthouse.ErrInvalid) || errors.Is(err, posthouse.ErrTooLarge) || errors.Is(err, posthouse.ErrUnsupported)
}

// Heartbeat implements [Task].
func (e *execution) Heartbeat() error {
	e.run.check()
	return context.Cause(e.ctx)
}

// lost returns why the worker does not have the task any more, nil while it has it: also
// when it stops, or the attempt takes too long.
func (e *execution) lost() error {
	if cause := e.Heartbeat(); errors.Is(cause, ErrLost) || errors.Is(cause, ErrCutOff) {
		return cause
	}
	return nil
}

// repeat calls the engine until it has answered, as long as the worker has the task. Work
// that a handler has done when it is asked to end goes on record, so that it is not
// repeated.
func (e *execution) repeat(call func(context.Context) error) error {
	if err := e.lost(); err != nil {
		return err
	}
	return e.run.repeat(e.run.ctx, call)
}

// Checkpoint implements [Task].
func (e *execution) Checkpoint(state []byte) error {
	if state == nil {
		state = []byte{}
	}
	e.mu.Lock()
	e.saves++
	n := e.saves
	e.mu.Unlock()
	err := e.repeat(func(ctx context.Context) error { return e.run.worker.engine.Save(ctx, e.claim.ID, n, state) })
	return cmp.Or(err, e.lost()) // what comes next must not come too late
}

// LoadCheckpoint implements [Task].
func (e *execution) LoadCheckpoint() (state []byte, err error) {
	err = e.repeat(func(ctx context.Context) (err error) {
		state, err = e.run.worker.engine.Load(ctx, e.claim.ID)
		return err
	})
	return state, cmp.Or(err, e.lost())
}

// Stream implements [Task].
func (e *execution) Stream(chunk any) error {
	b, err := json.Marshal(chunk)
	if err != nil {
		return posthouse.Invalid("chunk", "does not encode: %v", err)
	}
	return e.run.worker.engine.Stream(e.ctx, e.claim.ID, b)
}

// SendSignal implements [Task]. The signal's id is made of the task's key and iteration, its
// name, and how many signals of that name the execution has sent the thread before.
func (e *execution) SendSignal(thread, name string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return posthouse.Invalid("value", "of signal %.40q does not encode: %v", name, err)
	}
	e.mu.Lock()
	if e.signals == nil {
		e.signals = map[string]int{}
	}
	n := e.signals[thread+"\x00"+name]
	e.signals[thread+"\x00"+name]++
	e.mu.Unlock()
	s := posthouse.Signal{ID: signalID(e.claim, name, n), Name: name, Value: b}
	return e.repeat(func(ctx context.Context) error { return e.run.worker.engine.Signal(ctx, e.claim.ID, thread, s) })
}

func signalID(c *task.Claim, name string, n int) posthouse.ID {
	return posthouse.ID(string(c.Call) + "." + strconv.Itoa(c.Iteration) + "." + strconv.FormatUint(hashOf(name), 36) + "." + strconv.Itoa(n))
}

// WaitSignal implements [Task].
func (e *execution) WaitSignal(name string, timeout time.Duration) (json.RawMessage, error) {
	return e.records.Signal(name, false, timeout)
}

// handle runs the handler, and sees to it that the task has a verdict.
func (e *execution) handle(h Handler) {
	if e.lost() != nil {
		return // the process was frozen, or a heartbeat's answer said so before the claim's came
	}
	err := call(h, e)
	e.mu.Lock()
	given := e.given
	e.mu.Unlock()
	log := e.run.worker.opt.Logger.With("task", e.claim.Task, "thread", e.claim.Thread, "attempt", e.claim.Attempt)
	cause := context.Cause(e.ctx)
	switch {
	case given && err != nil:
		log.Warn("a handler returned an error behind its verdict", "error", err)
		return
	case given, errors.Is(cause, ErrLost), errors.Is(cause, ErrCutOff):
		return
	}
	v := task.Verdict{Action: task.Abandon}
	waits := e.records.parked(err)
	switch {
	case waits != nil:
		v.Action = task.Await
	case errors.Is(cause, ErrStopping) && (err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrStopping)):
	case err == nil:
		v = e.failure(task.Verdict{Action: task.Fail, Reason: "the handler returned without a verdict"}, nil)
	case cause != nil && errors.Is(err, context.DeadlineExceeded):
		v = e.failure(task.Verdict{Action: task.Fail, Reason: reasonOf(cause)}, err)
	default:
		v = e.failure(verdictOf(err), err)
	}
	if waits != nil {
		err = e.park(waits)
	} else {
		err = e.give(v)
	}
	if waits != nil && isRefused(err) { // a question that no engine asks
		v = e.failure(task.Verdict{Action: task.Fail, Reason: reasonOf(err)}, err)
		err = e.give(v)
	}
	if err != nil {
		log.Warn("the verdict of a task was not taken", "action", v.Action, "error", err)
	}
}

// A panicError is what a handler panicked with.
type panicError struct{ error }

// call calls a handler. A panic is an error.
func call(h Handler, e *execution) (err error) {
	defer func() {
		if v := recover(); v != nil {
			e.run.worker.opt.Logger.Error("a handler panicked", "task", e.claim.Task, "panic", v, "stack", string(debug.Stack()))
			err = panicError{fmt.Errorf("panic: %v", v)}
		}
	}()
	return h(e)
}

// reasonOf returns an error's text, cut to what a verdict may say.
func reasonOf(err error) string {
	if err == nil {
		return "no reason was given"
	}
	text := strings.ToValidUTF8(err.Error(), "?")
	if len(text) > posthouse.MaxText {
		text = strings.ToValidUTF8(text[:posthouse.MaxText], "")
	}
	if text == "" {
		return "no reason was given"
	}
	return text
}
