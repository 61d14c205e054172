package engine

import (
	"context"
	"sync/atomic"

	"github.com/posthouse/posthouse"
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

	lapsed atomic.Bool // see Lapsed

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

// countAttempts returns how many attempts were released, and how many are known to have
// failed.
func (e *Effect) countAttempts() (released, failed uint32) {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.call.countWithin(handler.UseReleased), e.call.countWithin(handler.UseFailed)
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
	released, _ := e.countAttempts()
	if released == 0 {
		return ""
	}
	return e.gateOf(released - 1)
}

// gateOf returns the gate under which an attempt was released.
func (e *Effect) gateOf(attempt uint32) posthouse.ID {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replay.Result(e.call.within(handler.UseReleased), attempt).Grant
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
	released, failed := e.countAttempts()
	if err := license.MayBegin(g, uses, t.Key(), e.call.label(), released); err != nil {
		return err
	}
	if released == failed || e.Under() != g.ID || e.isParked(released-1) { // else it is on record already
		if err := e.call.recordAttempt(ctx, handler.UseReleased, released, g.ID, Attempt{}); err != nil {
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

// Begun puts on record that the function of the use failed after parts of it had acted. The next
// attempt goes on under the same decision.
func (e *Effect) Begun(ctx context.Context, cause error) error {
	released, _ := e.countAttempts()
	return e.call.recordAttempt(ctx, handler.UseParked, released-1, e.under.ID, Attempt{Error: cleanText(cause.Error())})
}

// Failed puts on record that the attempts so far did not act.
func (e *Effect) Failed(ctx context.Context, cause error) error {
	var a Attempt
	if cause != nil {
		a.Error = cleanText(cause.Error())
	}
	if released, failed := e.countAttempts(); released > 0 && failed >= released && e.isClaimed() {
		if err := e.call.recordAttempt(ctx, handler.UseReleased, released, e.gateOf(released-1), Attempt{}); err != nil {
			return err // it counted as an attempt that did not act before a worker had its task
		}
	}
	for {
		released, failed := e.countAttempts()
		if failed >= released {
			return nil
		}
		if err := e.call.recordAttempt(ctx, handler.UseFailed, failed, e.gateOf(failed), a); err != nil {
			return err
		}
	}
}
