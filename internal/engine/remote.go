package engine

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/runs"
)

// taskPrefix begins the names of tasks for workers on record.
const taskPrefix = "task:"

// A RemoteCall is what a worker is to do, and for how long it may take.
type RemoteCall struct {
	Task string // the name of the handler
	runs.RemoteOptions
}

// mayAct refuses a task that acts on the world without a grant, where the ledger asks for one.
// A task whose class nobody names is taken for one that does.
func (r *RemoteCall) mayAct(t *Task, use *Effect, name string) error {
	acts := r.Effect == posthouse.EffectExternal || r.Effect == posthouse.EffectUnset
	if use == nil && acts && commit.RequiresGrants(t.session.ledger.Core()) {
		return posthouse.NeedsGrant(name)
	}
	return nil
}

// Check returns what is wrong with a call, before anything is known of its input.
func (r *RemoteCall) Check() error {
	for _, d := range []struct {
		field string
		have  time.Duration
	}{{"Start", r.Start}, {"Expires", r.Expires}} {
		if d.have < 0 || d.have > backoff.Longest {
			return posthouse.Invalid(d.field, "of task %.40q must be between 0 and 100 years", r.Task)
		}
	}
	if err := posthouse.ValidateName("task", r.Task); err != nil {
		return err
	}
	if r.Effect > posthouse.EffectExternal {
		return posthouse.Invalid("Effect", "of task %.40q is not known; it is pure, read, write or external", r.Task)
	}
	if r.Group != "" {
		if err := posthouse.ValidateName("group", r.Group); err != nil {
			return err
		}
	}
	return commit.CheckTaskLimits(&r.Limits)
}

// Remote has a worker do something, and decodes its output into out, a pointer. Until then
// it remembers the wait and returns [posthouse.ErrWaiting], as [Gates.Ask] does. What is on
// record counts when the program runs again, whatever the call says then; so input is called
// for a new task only.
//
// Errors: a [*runs.RemoteError] where no attempt is left, [posthouse.ErrExpired] behind its
// deadline, [posthouse.ErrCancelled] if somebody cancelled it, [posthouse.ErrInvalid] and
// [posthouse.ErrTooLarge] for what does not fit, and as for [Task.Do].
func (t *Task) Remote(ctx context.Context, name string, r *RemoteCall, input func() (any, error), out any) error {
	if err := CheckName("task", name); err != nil {
		return err
	}
	c := &call{}
	if err := t.beginCall(ctx, taskPrefix+name, false, c); err != nil {
		return err
	}
	defer t.endWait(c)
	have, err := t.waitGate(ctx, c)
	if err != nil {
		return err
	}
	use := t.useOf(ctx)
	var replaced posthouse.ID
	if have != nil && have.Call != nil && use != nil && use.reopens(ctx, have) {
		if call := use.goesOn(have); call != nil {
			return t.await(c, posthouse.Gate{Kind: posthouse.GateTask, Call: call, Payload: have.Payload, ExpiresAt: have.ExpiresAt, Supersedes: have.ID})
		}
		have, replaced = nil, have.ID
	}
	if have == nil {
		if err := r.mayAct(t, use, name); err != nil {
			return err
		}
		if use != nil {
			if err := use.Lost(ctx); err != nil {
				return err
			}
		}
		g, err := t.remoteGate(r, input)
		if err != nil {
			return err
		}
		if g.Supersedes = replaced; use != nil {
			use.open(callName(c.name, c.occurrence), g.Call)
		}
		return t.await(c, *g)
	}
	if use != nil {
		if err := use.unknown(have); err != nil {
			return err
		}
		if isTakenBack(have) {
			use.lapsed.Store(true)
		}
	}
	switch d := have.Decision; d.Verdict {
	case posthouse.Respond:
		return decodeOutput(have, out)
	case posthouse.Reject:
		return &runs.RemoteError{Task: have.Call.Task, Gate: have.ID, Worker: d.By, Attempts: have.Call.Attempt, Reason: d.Reason}
	case commit.Parked:
		return t.awaitFor(ctx, c, have)
	case posthouse.Expire:
		return &posthouse.Error{
			Code: posthouse.CodeExpired, Decision: d,
			Message: "no worker completed task " + have.Call.Task + " before " + have.ExpiresAt.Format(time.RFC3339), Hint: "look whether a worker handles it, or go on without",
		}
	}
	return withdrawn(have)
}

func decodeOutput(g *posthouse.Gate, out any) error {
	err := posthouse.JSON.Unmarshal(g.Decision.Value, out)
	if err == nil {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "output", Err: err,
		Message: "of task " + g.Call.Task + " does not fit a " + reflect.TypeOf(out).Elem().String(),
		Hint:    "read such outputs as any, or fork from before the task and handle it anew",
	}
}

// remoteGate returns the gate that waits for a worker.
func (t *Task) remoteGate(r *RemoteCall, input func() (any, error)) (*posthouse.Gate, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	in, err := input()
	if err != nil {
		return nil, err
	}
	payload, err := json.Marshal(in)
	if err != nil {
		return nil, posthouse.Invalid("input", "of task %.40q does not encode: %v", r.Task, err)
	}
	if len(payload) > handler.MaxInput {
		return nil, posthouse.TooLarge("input", len(payload), handler.MaxInput)
	}
	g := &posthouse.Gate{
		Kind: posthouse.GateTask, Payload: payload,
		Call: &posthouse.TaskCall{Task: r.Task, Group: r.Group, Limits: r.Limits, Metadata: r.Metadata, Trace: r.Trace, Effect: r.Effect},
	}
	now := t.session.ledger.Now()
	if r.Start > 0 {
		g.Call.NotBefore = now.Add(r.Start)
	}
	if r.Expires > 0 {
		g.ExpiresAt = now.Add(r.Expires)
	}
	return g, nil
}

// awaitFor waits for what the handler of a task waits for. Once all of that is over it hands
// the task out again. So it returns [posthouse.ErrWaiting] until somebody cancels a wait.
func (t *Task) awaitFor(ctx context.Context, c *call, have *posthouse.Gate) error {
	var waits []handler.Wait
	if err := json.Unmarshal(have.Decision.Value, &waits); err != nil {
		return posthouse.Corrupt("what gate %s waits for does not parse: %v", have.ID, err)
	}
	within := handler.Within(c.name, c.occurrence, have.Call.Iteration)
	ctx = t.Scope(ctx, within, 0)
	waiting := false
	for i := range waits {
		switch err := t.awaitOne(ctx, within, &waits[i]); {
		case errors.Is(err, posthouse.ErrWaiting):
			waiting = true
		case err != nil:
			return err
		}
	}
	if waiting {
		return posthouse.ErrWaiting
	}
	next := *have.Call
	next.Paused, next.NotBefore = "", time.Time{}
	return t.await(c, posthouse.Gate{Kind: posthouse.GateTask, Call: &next, Payload: have.Payload, ExpiresAt: have.ExpiresAt, Supersedes: have.ID})
}

// awaitOne returns nil for a wait that is over, however it ended: the handler finds that.
func (t *Task) awaitOne(ctx context.Context, within string, w *handler.Wait) error {
	switch {
	case w.Act != nil:
		return t.awaitUse(ctx, within, w.Act)
	case w.Edited != "":
		return t.awaitEdit(ctx, w.Edited, *w.Question)
	case w.Question != nil:
		_, err := t.Gates().Ask(ctx, *w.Question)
		return err
	}
	_, err := t.Signal(ctx, w.Signal, w.Latch, w.Timeout)
	if errors.Is(err, posthouse.ErrExpired) {
		return nil
	}
	return err
}
