package engine

import (
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"github.com/posthouse/posthouse/internal/failure"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// A failedCall is a call that failed in a program that may go on. It goes on record with what
// the code that got its error does next. A replay then returns the error again: what people
// decided about it stands.
type failedCall struct {
	mark     posthouse.Step // its record, without a value
	err      error
	within   string // the prefix of the names of calls that the code makes which gets the error
	ordered  bool   // directly in the task, and its place in the order counts
	received bool   // the code has the error
	again    bool   // the function did not run, or was stopped: it is tried again, whatever follows
	waits    bool   // something in it waits
}

// value returns the record's value. Without an error it says only that the call failed.
func (f *failedCall) value(err error) posthouse.Step {
	s := f.mark
	s.Value = posthouse.Value{Codec: threadlog.CodecFailed}
	if err != nil {
		s.Value.Data = failure.Encode(err)
	}
	return s
}

// receivedBy returns the failures that code knows which now makes a call or asks a question
// of this name. Callers hold the task's mutex.
func (m *taskState) receivedBy(name string) (known []*failedCall) {
	for _, f := range m.failures {
		if f.received && !f.again && strings.HasPrefix(name, f.within) {
			known = append(known, f)
		}
	}
	return known
}

// asksAfter notes that people, or somebody else, are asked by code that knows of failures.
// Callers hold the task's mutex.
func (m *taskState) asksAfter(known []*failedCall) {
	if len(known) == 0 {
		return
	}
	if m.acted == nil {
		m.acted = map[*failedCall]bool{}
	}
	for _, f := range known {
		m.acted[f] = true
	}
}

// noteFailure notes a call that ended without a result. Callers hold the task's mutex.
func (t *Task) noteFailure(c *call, err error) {
	m := t.made()
	f := &failedCall{
		mark: posthouse.Step{Task: t.Key(), Name: c.name, Occurrence: c.occurrence},
		err:  err, within: c.name[:len(c.name)-len(c.base)], ordered: c.top || c.beside,
		received: !c.grouped && !c.loose, waits: c.waits,
		again: c.waits || !c.acted || err == nil || t.around != nil && t.around.Err() != nil,
	}
	c.failed = f
	if f.ordered || !f.again {
		m.failures = append(m.failures, f)
	}
}

// takeFailures takes the failures that go on record before something: those known are
// recorded with their errors. Callers hold the task's mutex.
func (m *taskState) takeFailures(known func(*failedCall) bool, rest func(*failedCall) bool) (taken []*failedCall, marks []posthouse.Step) {
	var left []*failedCall
	for _, f := range m.failures {
		switch {
		case known(f):
			marks = append(marks, f.value(f.err))
			m.known = append(m.known, f)
			taken = append(taken, f)
		case rest(f):
			marks = append(marks, f.value(nil))
			taken = append(taken, f)
		default:
			left = append(left, f)
		}
	}
	m.failures = left
	return taken, marks
}

// returnFailures undoes takeFailures. Callers hold the task's mutex.
func (m *taskState) returnFailures(taken []*failedCall) {
	m.failures = append(taken, m.failures...)
	for _, f := range taken {
		for i := range m.known {
			if m.known[i] == f {
				m.known = append(m.known[:i], m.known[i+1:]...)
				break
			}
		}
	}
}

// Receive tells that the code which began a call beside others has its error now: what it
// does from now on, it does knowing that.
func (c *Call) Receive(err error) {
	if err == nil {
		return
	}
	c.task.mu.Lock()
	defer c.task.mu.Unlock()
	if f := c.failed; f != nil && !f.received {
		f.received = true
		if f.err == nil && c.acted && !errors.Is(err, posthouse.ErrWaiting) { // it panicked
			f.err, f.again = err, false
		}
	}
}

// EndedBy notes that an execution, or an attempt of it, ended with an error. Recorded
// failures that are in it ended the execution: the next one tries those calls again. It
// returns an [OrderError] if people decided something after such a failure, which this
// execution did not come to.
func (v Records) EndedBy(cause error) error {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.state.Load()
	if m == nil || cause == nil {
		return nil
	}
	for _, f := range m.known {
		if !failure.Holds(cause, f.err) {
			continue
		}
		if dropped := t.replay.DecidedAfter(f.mark.Name, f.mark.Occurrence, f.within); dropped != "" {
			return &OrderError{
				Thread: t.session.Thread(), Task: t.Key(), Recorded: dropped,
				Asked: "(another way after the failure of " + replay.StepName(&f.mark) + ")",
			}
		}
	}
	t.retryEnded(cause, "")
	return nil
}

// retryEnded holds marks that calls with failures in an error are to be made again.
// Callers hold the task's mutex.
func (t *Task) retryEnded(cause error, prefix string) {
	m := t.made()
	var left []*failedCall
	for _, f := range m.known {
		if !strings.HasPrefix(f.mark.Name, prefix) || !failure.Holds(cause, f.err) {
			left = append(left, f)
			continue
		}
		m.held = append(m.held, f.value(nil))
		t.replay.ForgetFailure(f.mark.Name, f.mark.Occurrence)
	}
	m.known = left
}

// rememberFailure lets a later attempt find the failure that was recorded within its step.
// Callers hold the task's mutex.
func (t *Task) rememberFailure(s *posthouse.Step) {
	if !t.made().repeats || !strings.Contains(s.Name, replay.Nested) || len(s.Value.Data) == 0 {
		return
	}
	if t.replay == nil {
		t.replay = replay.Empty()
	}
	t.replay.RememberFailure(s)
}
