package engine

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"github.com/posthouse/posthouse/internal/failure"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/runs"
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
	behind   string // what is on record after it, the first that acts: the call is not made again; "" for nothing
	over     bool   // it failed by a failure within it that stands
	at       uint32 // how many calls and questions the execution had begun when it got on record
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

// knownBy is receivedBy for failures that are on record already.
func (m *taskState) knownBy(name string) (known []*failedCall) {
	for _, f := range m.known {
		if strings.HasPrefix(name, f.within) {
			known = append(known, f)
		}
	}
	return known
}

// asksAfter notes that people, or somebody else, are asked by code that knows of failures: those
// that are not on record, and those that are. Callers hold the task's mutex.
func (m *taskState) asksAfter(name string, before, known []*failedCall) {
	actsAfter(name, before)
	actsAfter(name, known)
	if len(before) > 0 && m.acted == nil {
		m.acted = map[*failedCall]bool{}
	}
	for _, f := range before {
		m.acted[f] = true
	}
}

// actsAfter notes that something is on record, or is asked, after failures: they stand. Callers
// hold the task's mutex.
func actsAfter(name string, known []*failedCall) {
	for _, f := range known {
		f.behind = cmp.Or(f.behind, strings.TrimPrefix(name, f.within))
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
	if last := m.lastKnown(c.within("")); last >= 0 {
		f.over = m.known[last].behind != "" && !m.mayHelp(c.within(""))
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
			f.at = m.calls
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

// EndedBy notes that an execution, or an attempt of it, ended with an error, and returns that. If
// it ended after a recorded failure that stands, and no call failed since, the error says so:
// another attempt would end in the same way, and [Retry.Wants] none. If the last failure on record
// does not stand, the next execution makes that call again. Broken says that people decided something
// after the last failure, which this execution did not come to: the error has an [OrderError].
func (v Records) EndedBy(cause error) (_ error, broken bool) {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.state.Load()
	if m == nil || cause == nil || len(m.known) == 0 {
		return cause, false
	}
	last := m.known[len(m.known)-1]
	if last.at == m.calls {
		if dropped := t.replay.DecidedAfter(last.mark.Name, last.mark.Occurrence, last.within); dropped != "" {
			return errors.Join(&OrderError{
				Thread: t.session.Thread(), Task: t.Key(), Recorded: dropped,
				Asked: "(another way after the failure of " + replay.StepName(&last.mark) + ")",
			}, cause), true
		}
	}
	if late, ok := cause.(*runs.TimeoutError); ok && !failure.Holds(last.err, late) {
		return cause, false // it was stopped
	}
	f := t.endFailures("")
	if f == nil {
		return cause, false
	}
	m.held = append(m.held, f.value(f.err))
	return &overError{cause, replay.StepName(&f.mark), f.behind}, false
}

// An overError is the error of an execution that would end in the same way again.
type overError struct {
	error
	step, behind string
}

func (e *overError) Error() string {
	return e.error.Error() + " (step " + e.step + " is not made again: " + e.behind + " is on record after its failure; begin the step anew or fork to make it again)"
}

func (e *overError) Unwrap() error { return e.error }

// endFailures ends an execution, or an attempt of the step with calls that have names which begin
// with prefix, that failed. It returns the last failure on record if that stands and no other call
// failed, nil otherwise: if it does not stand, it has the call made again. Callers hold the task's mutex.
func (t *Task) endFailures(prefix string) *failedCall {
	m := t.made()
	last := m.lastKnown(prefix)
	if last < 0 {
		return nil
	}
	f := m.known[last]
	if f.behind != "" {
		if m.mayHelp(prefix) {
			return nil
		}
		return f
	}
	m.held = append(m.held, f.value(nil))
	t.replay.ForgetFailure(f.mark.Name, f.mark.Occurrence)
	m.known = slices.Delete(m.known, last, last+1)
	return nil
}

// lastKnown returns the place of the last failure on record of calls with names that begin with
// prefix, -1 if there is no such failure.
func (m *taskState) lastKnown(prefix string) int {
	for i, f := range slices.Backward(m.known) {
		if strings.HasPrefix(f.mark.Name, prefix) {
			return i
		}
	}
	return -1
}

// mayHelp reports whether a call with a name that begins with prefix failed and can be made again.
func (m *taskState) mayHelp(prefix string) bool {
	return slices.ContainsFunc(m.failures, func(f *failedCall) bool { return !f.over && strings.HasPrefix(f.mark.Name, prefix) })
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
	t.replay.Remember(&posthouse.StepRecord{Step: *s}, "")
}
