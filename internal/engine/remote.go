package engine

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
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
// A task without a named class is taken for one that does.
func (r *RemoteCall) mayAct(t *Task, use *Effect, name string) error {
	acts := r.Effect == posthouse.EffectExternal || r.Effect == posthouse.EffectUnset
	if use == nil && acts && t.session.Ledger().Core().Rules.RequireGrants {
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
// it remembers the wait and returns [posthouse.ErrWaiting], as [Gates.Ask] does. The
// recorded task counts when the program runs again, whatever the call says then; so input is
// called for a new task only.
//
// Errors: a [*runs.RemoteError] if no attempt is left, [posthouse.ErrExpired] after its
// deadline, [posthouse.ErrCancelled] if somebody cancelled it, [posthouse.ErrInvalid] and
// [posthouse.ErrTooLarge] for what does not fit, and as for [Task.Do].
func (t *Task) Remote(ctx context.Context, name string, r *RemoteCall, input func() (any, error), out any) error {
	if err := CheckName("task", name); err != nil {
		return err
	}
	w, err := t.beginWait(ctx, taskPrefix+name, false)
	if err != nil {
		return err
	}
	defer w.end()
	as := commit.Output{Type: reflect.TypeOf(out).Elem(), Extra: r.Extra}
	t.session.Ledger().Core().Outputs.Expect(&posthouse.Gate{Thread: t.session.Thread(), Task: t.Key(), Name: w.name, Occurrence: w.occurrence}, as)
	have, err := w.gate(ctx)
	if err != nil {
		return err
	}
	use := t.useOf(ctx)
	var replaced posthouse.ID
	if have != nil && have.Call != nil && use != nil && use.reopens(ctx, have, as) {
		if call := use.goesOn(have); call != nil {
			return w.park(posthouse.Gate{Kind: posthouse.GateTask, Call: call, Payload: have.Payload, ExpiresAt: have.ExpiresAt, Supersedes: have.ID})
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
		g, err := r.gate(t.session.Ledger().Now(), input)
		if err != nil {
			return err
		}
		g.Supersedes = replaced
		if use != nil {
			use.open(w.label(), g.Call)
		}
		return w.park(*g)
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
		why := as.Misfit(d.Value)
		if why != "" && use != nil {
			return use.unfit(have, why)
		}
		return decodeOutput(have, why, out)
	case posthouse.Reject:
		return &runs.RemoteError{
			Task: have.Call.Task, Gate: have.ID, Worker: d.By, Attempts: have.Call.Attempt, Reason: d.Reason, NotDone: use != nil && use.saidNotDone(have),
		}
	case commit.Parked:
		return w.handler(ctx, have)
	case posthouse.Expire:
		return notBegun(use, &posthouse.Error{
			Code: posthouse.CodeExpired, Decision: d,
			Message: "no worker completed task " + have.Call.Task + " before " + have.ExpiresAt.Format(time.RFC3339), Hint: "look whether a worker handles it, or go on without",
		})
	}
	return notBegun(use, withdrawn(have))
}

// notBegun marks the error of a use's task that no worker had: nothing happened.
func notBegun(use *Effect, err error) error {
	if use == nil {
		return err
	}
	return effect.MarkNotDone(err)
}

// decodeOutput decodes the output of a task. why says that it does not fit, "" if it does.
func decodeOutput(g *posthouse.Gate, why string, out any) error {
	var err error
	if why == "" {
		err = posthouse.JSON.Unmarshal(g.Decision.Value, out)
	}
	if why == "" && err == nil {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "output", Err: err,
		Message: strings.TrimSuffix("of task "+g.Call.Task+" does not fit a "+reflect.TypeOf(out).Elem().String()+": "+why, ": "),
		Hint:    "read it as a type that takes it (any takes all, RemoteOptions.Extra passes over further members), or fork from before the task and handle it anew",
	}
}

// gate returns the gate that waits for a worker.
func (r *RemoteCall) gate(now time.Time, input func() (any, error)) (*posthouse.Gate, error) {
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
	if r.Start > 0 {
		g.Call.NotBefore = now.Add(r.Start)
	}
	if r.Expires > 0 {
		g.ExpiresAt = now.Add(r.Expires)
	}
	return g, nil
}
