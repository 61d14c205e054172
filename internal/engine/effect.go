package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/ledger"
)

// What is on record within a step that acts under a grant: that it is about to
// act, and that it failed to.
const (
	useName     = "$use"
	refusedName = "$failed"
)

// An Effect is a step that acts on the world under the decision of a gate. It is
// used within the step's own function.
type Effect struct {
	call *Call
	task *Task
}

// Effect returns the use of a grant that a call makes. Its result is to name the
// gate that [Effect.Release] was given. [posthouse.ErrInvalid] for a name that ends
// like the number of a call, as in "pay[1]": it would pass for the second "pay".
func (c *Call) Effect() (*Effect, error) {
	if i := strings.LastIndexByte(c.name, '['); i >= 0 && strings.HasSuffix(c.name, "]") && strings.Trim(c.name[i+1:len(c.name)-1], "0123456789") == "" {
		c.task.endCall(&c.call)
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "step", Message: "name " + strconv.Quote(c.name) + " of an effect ends like the number of a call",
			Hint: "put what tells effects apart otherwise, as in pay-1",
		}
	}
	c.licensed = true
	return &Effect{call: c, task: c.task}, nil
}

// Ran returns the gate under whose decision the effect ran that is on record, ""
// if none is.
func (e *Effect) Ran() posthouse.ID {
	if e.call.recorded == nil {
		return ""
	}
	return e.call.recorded.Grant
}

// attemptName returns the name of a record within the step.
func (e *Effect) attemptName(name string) string {
	return callName(e.call.name, e.call.occurrence) + nested + name
}

// countAttempts returns how often the step was released, and how often it is known to
// have failed.
func (e *Effect) countAttempts() (released, failed uint32) {
	t := e.task
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.replay == nil {
		return 0, 0
	}
	for t.replay.results[occurrence{e.attemptName(useName), released}] != nil {
		released++
	}
	for t.replay.results[occurrence{e.attemptName(refusedName), failed}] != nil {
		failed++
	}
	return released, failed
}

// Unknown reports whether an earlier attempt was released and its outcome is not
// on record: the effect may have happened. Attempt is its number, from 1.
func (e *Effect) Unknown() (attempt int, unknown bool) {
	released, failed := e.countAttempts()
	return int(released), released > failed
}

// Happened names, for the result that somebody found out, the gate under which the
// attempt was released.
func (e *Effect) Happened() {
	if g := e.Under(); g != "" {
		e.call.opt.Grant = g
	}
}

// Under returns the gate under which the newest attempt was released, "" if none was.
func (e *Effect) Under() posthouse.ID {
	released, _ := e.countAttempts()
	if released == 0 {
		return ""
	}
	return e.gateOf(released - 1)
}

// gateOf returns the gate under which an attempt was released.
func (e *Effect) gateOf(attempt uint32) posthouse.ID {
	t := e.task
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replay.results[occurrence{e.attemptName(useName), attempt}].Grant
}

// Release puts on record that the step is about to act under a gate's decision,
// unless as many other effects as the gate licenses did before: then it fails with
// [posthouse.ErrForbidden]. A step that is tried again is the same use; one whose
// earlier attempts this execution knows nothing of, since they were deleted or are
// of an attempt that was given up, is refused.
func (e *Effect) Release(ctx context.Context, g *posthouse.Gate) error {
	s := e.task.session
	s.grants.Lock() // from the count to the record
	defer s.grants.Unlock()
	uses, err := ledger.Uses(ctx, s.ledger, g.ID)
	if err != nil {
		return err
	}
	if e.task.closed.Load() {
		return e.task.closedError("effect", e.call.name)
	}
	released, failed := e.countAttempts()
	own, others := e.task.Key()+"\x00"+callName(e.call.name, e.call.occurrence), 0
	for i := range uses {
		u := &uses[i]
		if u.Task+"\x00"+callName(u.Name, u.Occurrence) != own {
			others++
			continue
		}
		if u.Status == posthouse.GrantExecuted || released == 0 && u.Status != posthouse.GrantDecided {
			return &posthouse.Error{
				Code: posthouse.CodeForbidden, Decision: g.Decision,
				Message: "effect " + e.call.name + " is on record under gate " + string(g.ID) + ", in entry " + strconv.FormatUint(u.Seq, 10) + ", and not where the thread stands now",
				Hint:    "find out what became of it; to do it again, propose it again",
			}
		}
	}
	if others >= g.Uses {
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Decision: g.Decision,
			Message: "the decision of gate " + string(g.ID) + " licensed " + itoa(uint32(g.Uses)) + " effect(s), and as many ran",
			Hint:    "propose it again: each effect needs a decision of its own",
		}
	}
	if released > failed && e.Under() == g.ID { // it is on record already
		e.call.opt.Grant = g.ID
		return nil
	}
	if err := e.recordAttempt(ctx, useName, released, g.ID, nil); err != nil {
		return err
	}
	e.call.opt.Grant = g.ID
	return nil
}

// Failed puts on record that the attempts so far did not act.
func (e *Effect) Failed(ctx context.Context, cause error) error {
	for {
		released, failed := e.countAttempts()
		if failed >= released {
			return nil
		}
		if err := e.recordAttempt(ctx, refusedName, failed, e.gateOf(failed), cause); err != nil {
			return err
		}
	}
}

func (e *Effect) recordAttempt(ctx context.Context, name string, n uint32, grant posthouse.ID, cause error) error {
	a := Attempt{}
	if cause != nil {
		a.Error = cleanText(cause.Error())
	}
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	v := posthouse.Value{Codec: posthouse.JSON.Name(), Data: data}
	own := call{name: e.attemptName(name), occurrence: n}
	if err := e.task.recordStep(ctx, &own, posthouse.Step{Effect: e.call.opt.Effect, Grant: grant, Value: v}); err != nil {
		return err
	}
	t := e.task
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.replay == nil {
		t.replay = newReplay(&core.Execution{Steps: make([]posthouse.StepRecord, 0, 1)}, "")
	}
	t.replay.results[occurrence{own.name, n}] = &posthouse.StepRecord{Step: posthouse.Step{Task: t.Key(), Name: own.name, Occurrence: n, Value: v, Grant: grant}}
	return nil
}

// Licenses returns why a gate's decision licenses no effect of this run, nil if it
// does: it was given on another branch, of another thread or for a version that was
// released since.
func (s *Session) Licenses(ctx context.Context, g *posthouse.Gate) error {
	if err := s.licenses(g); err != nil {
		return err
	}
	info, err := s.ledger.Thread(ctx, s.thread)
	if err != nil {
		return err
	}
	if g.Seq < info.First {
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: "gate " + string(g.ID) + " belongs to a released version of thread " + s.thread}
	}
	return nil
}

// OutcomeUnknown reports whether an error leaves open if an effect happened.
func OutcomeUnknown(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, posthouse.ErrUnknown) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// BaseName returns the name of a question without the steps that it was asked
// within.
func BaseName(question string) string {
	return question[strings.LastIndex(question, nested)+1:]
}
