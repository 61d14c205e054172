package engine

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/ledger"
)

// An Effect is a step that acts on the world under the decision of a gate. It is
// used within the step's own function.
type Effect struct {
	call  *Call
	under *posthouse.Gate // the decision of this gate lets it act now; nil while it does not act
	key   string          // of the step under that decision, see [StepKey]

	lapsed atomic.Bool   // see Lapsed
	reply  *effect.Reply // what this execution read of a task that does not fit; the task's lock guards it

	// Holds returns why a gate's decision does not hold now, as when a task of the use was taken
	// back before a worker had it.
	Holds func(ctx context.Context, g *posthouse.Gate) error

	// Checks says that Holds asks more than the engine can, which must be asked before a worker has
	// a task of the use.
	Checks bool
}

// Effect returns the use of a grant that a call makes. Its result is to name the
// gate that [Effect.Release] was given. [posthouse.ErrInvalid] for a name that ends
// like the number of a call, as in "pay[1]": it would pass for the second "pay".
func (c *Call) Effect() (*Effect, error) {
	if err := handler.CheckEffect(c.name); err != nil {
		c.task.endCall(&c.call, posthouse.ErrInvalid)
		return nil, err
	}
	c.task.mu.Lock()
	defer c.task.mu.Unlock()
	c.licensed, c.task.made().repeats = true, true
	return &Effect{call: c}, nil
}

// Ran returns the gate that licensed the recorded effect, "" for an effect that has not run.
func (e *Effect) Ran() posthouse.ID {
	if e.call.recorded == nil {
		return ""
	}
	return e.call.recorded.Grant
}

// Happened takes the gate of the newest attempt as that of the result, which somebody
// found out.
func (e *Effect) Happened() {
	if g := e.Under(); g != "" {
		e.call.opt.Grant = g
	}
}

// Under returns the gate under which the newest attempt was released, "" if no attempt
// was.
func (e *Effect) Under() posthouse.ID {
	u := e.Use()
	return u.Grant(u.Attempts() - 1)
}

// Release puts on record that the step is about to act under a gate's decision. It fails
// with [posthouse.ErrForbidden] if as many other effects as the gate licenses were
// released before. A further attempt of the step is the same use. Release refuses a step
// with earlier attempts that this execution does not know: they were deleted, or belong
// to another attempt of the task.
func (e *Effect) Release(ctx context.Context, g *posthouse.Gate) error {
	t := e.call.task
	s := t.session
	defer s.CountUses()() // from the count to the record
	uses, by, err := ledger.UsesOfEdit(ctx, s.Ledger(), g)
	if err != nil {
		return s.Unanswered(err)
	}
	if by != "" {
		return license.Replaced(g, by)
	}
	if t.closed.Load() {
		return closedError("effect", e.call.name, t.Key())
	}
	u := e.Use()
	begun := u.Attempts()
	if err := license.MayBegin(g, uses, t.Key(), e.call.label(), uint32(begun)); err != nil {
		return err
	}
	if !u.HasOpen() || u.Grant(begun-1) != g.ID || u.State() == effect.Waiting { // else it is on record already
		if err := e.call.recordAttempt(ctx, effect.RecordBegins, uint32(begun), g.ID, Attempt{}); err != nil {
			return err
		}
	}
	if err := s.Lease().Confirm(ctx); err != nil { // the answer may have come after the lease lapsed
		return err
	}
	e.call.opt.Grant, e.under = g.ID, g
	if !e.call.acts {
		e.call.acts = true
		session.EffectBegins(ctx)
	}
	return nil
}

// Over puts on record that the attempts so far are known not to have happened, if that is not on
// record. cause is what the function said, nil for what is known otherwise.
func (e *Effect) Over(ctx context.Context, cause error) error {
	u := e.Use()
	if u.Attempts() == 0 || !u.HasOpen() && !u.IsClaimed() {
		return nil
	}
	var a Attempt
	if cause != nil {
		a.Error = cleanText(cause.Error())
	}
	newest := u.Attempts() - 1
	return e.call.recordAttempt(ctx, effect.RecordOver, uint32(newest), u.Grant(newest), a)
}

// AskOutcome puts on record, in one entry, that the outcome of the newest attempt is unknown, and
// the question to people about it. It returns [posthouse.ErrWaiting] once that is on record, also
// if ctx has ended: what the question says is true whatever the caller does next.
func (e *Effect) AskOutcome(ctx context.Context, q posthouse.Gate, cause error) error {
	mark, err := e.unknownMark(cause)
	if err != nil {
		return err
	}
	return e.call.task.Gates().open(context.WithoutCancel(ctx), q, mark)
}

// unknownMark is the record that the outcome of the newest attempt is unknown, nil if it is there.
func (e *Effect) unknownMark(cause error) (*posthouse.Step, error) {
	u := e.Use()
	newest := u.Attempts() - 1
	t := e.call.task
	name := e.call.within(effect.RecordUnknown)
	t.mu.Lock()
	have := t.replay.Result(name, uint32(newest)) != nil
	t.mu.Unlock()
	if have {
		return nil, nil
	}
	var a Attempt
	if cause != nil {
		a.Error = cleanText(cause.Error())
	}
	v, err := json.Marshal(a)
	return &posthouse.Step{
		Task: t.Key(), Name: name, Occurrence: uint32(newest), Effect: e.call.opt.Effect, Grant: u.Grant(newest),
		Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: v},
	}, err
}
