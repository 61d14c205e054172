package commit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/effect"
)

// Default limits of a task, and the largest that its caller may name.
const (
	defaultAttempts   = 3
	maxAttempts       = 1000
	defaultBackoff    = time.Second
	defaultMaxBackoff = time.Minute
	defaultIterations = 1000
	maxIterations     = 1_000_000
	maxTrace          = 8
	maxMetadata       = 32
	maxKey            = 4000 // of an effect: thread, execution and step
)

// ValidateCall checks what a gate asks of a worker. [posthouse.ErrInvalid] names the field.
func ValidateCall(g *posthouse.Gate) error {
	c := g.Call
	switch {
	case g.Kind != posthouse.GateTask:
		return posthouse.Invalid("call", "goes with gates of kind task, not with %.40q", g.Name)
	case c == nil:
		return posthouse.Invalid("call", "of gate %.40q is required", g.Name)
	case len(c.Failure) > posthouse.MaxText || !text.IsUTF8(c.Failure):
		return posthouse.Invalid("failure", "of gate %.40q must be at most %d bytes of text", g.Name, posthouse.MaxText)
	case c.NotBefore.UnixMilli() > posthouse.MaxMillis:
		return posthouse.Invalid("notBefore", "of gate %.40q is beyond the year 9999", g.Name)
	}
	for _, n := range []struct {
		field, name string
		empty       bool
	}{{"task", c.Task, false}, {"group", c.Group, true}, {"paused", c.Paused, true}} {
		if n.empty && n.name == "" {
			continue
		}
		if err := posthouse.ValidateName(n.field, n.name); err != nil {
			return err
		}
	}
	if err := checkValues("metadata", g.Name, c.Metadata, maxMetadata); err != nil {
		return err
	}
	if err := checkValues("trace", g.Name, c.Trace, maxTrace); err != nil {
		return err
	}
	if len(c.Continued) > 0 {
		if err := posthouse.CheckJSON("continued", c.Continued); err != nil {
			return err
		}
	}
	return cmp.Or(checkUse(g.Name, c), CheckTaskLimits(&c.Limits))
}

// checkUse checks what a call says of the grant that it acts under.
func checkUse(gate string, c *posthouse.TaskCall) error {
	switch {
	case c.Effect > posthouse.EffectExternal:
		return posthouse.Invalid("effect", "of gate %.40q is not a class of a task", gate)
	case len(c.Use) > posthouse.MaxTask || !text.IsUTF8(c.Use) || (c.Use == "") != (c.Grant == ""):
		return posthouse.Invalid("use", "of gate %.40q must be at most %d bytes of text, and goes with a grant", gate, posthouse.MaxTask)
	case len(c.Key) > maxKey || !text.IsUTF8(c.Key):
		return posthouse.Invalid("key", "of gate %.40q must be at most %d bytes of text", gate, maxKey)
	case c.Grant != "":
		return c.Grant.Validate()
	}
	return nil
}

// checkValues checks what a handler is given beside its input.
func checkValues(field, gate string, values map[string]string, most int) error {
	if len(values) > most {
		return posthouse.Invalid(field, "of gate %.40q has %d values; the limit is %d", gate, len(values), most)
	}
	for name, v := range values {
		if name == "" || len(name) > posthouse.MaxID || len(v) > posthouse.MaxID*4 || !text.Valid(name) || !text.Valid(v) {
			return posthouse.Invalid(field, "value %.40q must have a name of 1 to %d bytes and at most %d bytes of text", name, posthouse.MaxID, posthouse.MaxID*4)
		}
	}
	return nil
}

// maxFactor bounds by how much the delay between the attempts of a task grows each time.
const maxFactor = 1000

// CheckTaskLimits checks what bounds a task. [posthouse.ErrInvalid] names the limit.
func CheckTaskLimits(l *posthouse.TaskLimits) error {
	for _, n := range []struct {
		field    string
		have, to int
	}{{"attempts", l.MaxAttempts, maxAttempts}, {"iterations", l.Iterations, maxIterations}} {
		if n.have < 0 || n.have > n.to {
			return posthouse.Invalid(n.field, "of a task is %d; it is 1 to %d, or 0 for the default", n.have, n.to)
		}
	}
	for _, d := range []struct {
		field string
		have  time.Duration
	}{
		{"backoff", l.InitialDelay}, {"maxBackoff", l.MaxDelay}, {"timeout", l.Timeout}, {"duration", l.Duration}, {"loopDelay", l.LoopDelay},
	} {
		if d.have < 0 || d.have > backoff.Longest {
			return posthouse.Invalid(d.field, "of a task is %s; it is 0 to 100 years", d.have)
		}
	}
	switch {
	case l.Backoff > posthouse.Fixed:
		return posthouse.Invalid("strategy", "of a task is %s, which is not known; it is exponential, linear or fixed", l.Backoff)
	case l.Factor != 0 && !(l.Factor >= 1 && l.Factor <= maxFactor):
		return posthouse.Invalid("factor", "of a task is %g; it is 1 to %d", l.Factor, maxFactor)
	case !(l.Jitter >= 0 && l.Jitter <= 1):
		return posthouse.Invalid("jitter", "of a task is %g; it is 0 to 1", l.Jitter)
	}
	return nil
}

// setCallDefaults fills in what a new gate's call does not say.
func setCallDefaults(tx *core.Tx, g *posthouse.Gate) {
	if g.Kind != posthouse.GateTask || g.Call == nil {
		return
	}
	c := *g.Call
	g.Call = &c
	c.ID, c.Attempt = cmp.Or(c.ID, g.ID), max(c.Attempt, 1)
	if c.Began.IsZero() {
		c.Began = tx.At
	}
	c.Began = posthouse.ToMillis(c.Began)
	if !c.NotBefore.IsZero() {
		c.NotBefore = posthouse.ToMillis(c.NotBefore.Add(time.Millisecond - 1))
	}
}

// A TaskOutcome is what became of one execution of a task.
type TaskOutcome struct {
	By     string          // the worker, as "worker:NAME"
	Output json.RawMessage // of a task that is complete
	Failed string          // why no further attempt is made, "" for a task that is complete

	// Of a task under a grant: Unknown says that its effect may have happened, Undone that its
	// worker said that it did not. Withdrawn is why the task is taken back before a worker had it.
	Unknown, Undone bool
	Withdrawn       string

	Began time.Time        // when the worker claimed it; zero for another end
	Notes []posthouse.Note // of the handler

	Waits json.RawMessage // what the handler waits for, as the program's engine reads it

	// Next, if set, is the call that goes on in place of this one: another attempt, the
	// same one after a pause, or the next iteration. Why says which.
	Next *posthouse.TaskCall
	Why  string
}

// Parked is the verdict of a task with a handler that waits for something. The value
// says for what, and the program's engine opens the next gate once that is over.
const Parked = posthouse.Edit

// ResolveTask decides the gate of a task by the outcome of an execution, and in the same
// entry opens the gate of the next one, if there is to be one. It returns the decided gate,
// and the next one or nil.
//
// [posthouse.ErrDecided] if the gate was decided before, [posthouse.ErrConflict] if another
// attempt has taken its place, [posthouse.ErrExpired] after its deadline.
func ResolveTask(ctx context.Context, c *Committer, at GateRef, o *TaskOutcome) (g, next *posthouse.Gate, err error) {
	if err := o.check(c); err != nil {
		return nil, nil, err
	}
	decide := func(tx *core.Tx, g *posthouse.Gate) (*posthouse.Decision, error) {
		next = nil
		at.Named(g)
		switch {
		case g.Kind != posthouse.GateTask:
			return nil, posthouse.Invalid("gate", "%s waits for a %s, not for a worker", g.ID, g.Kind)
		case !g.ExpiresAt.IsZero() && !tx.At.Before(g.ExpiresAt):
			return Expired(g), nil
		case o.Withdrawn != "":
			return &posthouse.Decision{Verdict: posthouse.Cancel, By: o.By, Reason: o.Withdrawn}, nil
		}
		if o.Undone && g.Call.Grant != "" {
			if err := addUse(tx, c.Rules, g, effect.RecordUndone, UseRecord{Gate: g.ID, Call: g.Call.ID, Worker: o.By, Attempt: g.Call.Attempt, NotDone: true}); err != nil {
				return nil, err
			}
		}
		switch {
		case o.Next == nil && o.Failed != "":
			return &posthouse.Decision{Verdict: posthouse.Reject, By: o.By, Reason: o.Failed, Unknown: (o.Unknown || g.Call.Lost) && g.Call.Grant != ""}, nil
		case len(o.Waits) > 0:
			return &posthouse.Decision{Verdict: Parked, By: o.By, Value: o.Waits, Reason: "waits"}, nil
		case o.Next == nil:
			return &posthouse.Decision{Verdict: posthouse.Respond, By: o.By, Value: o.Output}, nil
		}
		opened, err := openNext(tx, g, o.Next, o.Unknown)
		if err != nil {
			return nil, err
		}
		next = &opened
		return &posthouse.Decision{Verdict: posthouse.Cancel, By: o.By, Reason: o.Why, Successor: opened.ID}, nil
	}
	g, err = Decide(ctx, c, at, func(tx *core.Tx, g *posthouse.Gate) (*posthouse.Decision, error) {
		d, err := decide(tx, g)
		if d != nil && !o.Began.IsZero() {
			d.BeganAt, d.Notes = posthouse.ToMillis(o.Began), o.Notes
		}
		return d, err
	})
	if err != nil {
		return g, nil, err
	}
	if next != nil {
		next, err = c.Logs.Gate(ctx, next.ID)
		if err != nil {
			return g, nil, err
		}
	}
	return g, next, nil
}

// openNext opens the gate that takes the place of a task's. It must come before the
// decision in its entry, so that the branch goes on waiting. Lost says that this attempt may have
// acted: no word of a later one that it did not act says so of this one.
func openNext(tx *core.Tx, g *posthouse.Gate, call *posthouse.TaskCall, lost bool) (posthouse.Gate, error) {
	again := *g.Clone()
	again.ID, again.Supersedes, again.Origin = "", g.ID, ""
	again.Call = call
	call.ID, call.Began, call.Lost = g.Call.ID, g.Call.Began, call.Lost || lost && call.Grant != ""
	return AddGate(tx, &Plan{Thread: g.Thread, Branch: g.Branch}, again)
}

func (o *TaskOutcome) check(c *Committer) error {
	switch {
	case o.By == "":
		return posthouse.Invalid("by", "is required: the worker's name")
	case len(o.Failed) > posthouse.MaxText || len(o.Why) > posthouse.MaxText:
		return posthouse.Invalid("failed", "must be at most %d bytes of text", posthouse.MaxText)
	case o.Next == nil && o.Failed == "" && o.Withdrawn == "" && len(o.Output) == 0 && len(o.Waits) == 0:
		return posthouse.Invalid("output", "is required; null is an output")
	case len(o.Waits) > c.Config.MaxState:
		return posthouse.OverMaxState("waits", len(o.Waits), c.Config.MaxState)
	case len(o.Output) > c.Config.MaxState:
		return posthouse.OverMaxState("output", len(o.Output), c.Config.MaxState)
	case len(o.Output) > 0:
		return posthouse.CheckStrict("output", o.Output)
	}
	return nil
}

// NextAttempt returns the call that tries again after a failure and wait or, if that
// is 0, the delay of the task's limits. It returns nil if no attempt is left.
func NextAttempt(c *posthouse.TaskCall, now time.Time, failure string, wait time.Duration) *posthouse.TaskCall {
	if c.Attempt >= cmp.Or(c.Limits.MaxAttempts, defaultAttempts) {
		return nil
	}
	next := *c
	if wait == 0 {
		w := backoff.Waits{
			First: cmp.Or(c.Limits.InitialDelay, defaultBackoff), Most: cmp.Or(c.Limits.MaxDelay, defaultMaxBackoff), Strategy: backoff.Strategy(c.Limits.Backoff), Factor: c.Limits.Factor, Jitter: c.Limits.Jitter,
		}
		wait = w.Before(c.Attempt, rand.Float64())
	}
	next.Attempt, next.Failure, next.Paused, next.NotBefore = c.Attempt+1, failure, "", now.Add(wait)
	return &next
}

// NextIteration returns the call of the next iteration, which goes on with a value. It
// fails with [posthouse.ErrTooLarge] beyond the task's iterations, and with
// [posthouse.ErrExpired] where that would begin beyond its duration.
func NextIteration(c *posthouse.TaskCall, now time.Time, value json.RawMessage) (*posthouse.TaskCall, error) {
	next := *c
	next.Iteration, next.Continued = c.Iteration+1, value
	next.Attempt, next.Failure, next.Paused, next.NotBefore = 1, "", "", time.Time{}
	begins := now.Add(c.Limits.LoopDelay)
	if c.Limits.LoopDelay > 0 {
		next.NotBefore = begins
	}
	if most := cmp.Or(c.Limits.Iterations, defaultIterations); next.Iteration >= most {
		return nil, posthouse.TooMany("iterations", next.Iteration+1, most, "let the handler complete sooner, or raise Iterations of the task's limits")
	}
	if d := c.Limits.Duration; d > 0 && begins.Sub(c.Began) > d {
		return nil, &posthouse.Error{
			Code: posthouse.CodeExpired, Field: "duration", Message: "of " + d.String() + " would be over before task " + c.Task + " begins its next iteration",
			Hint: "let the handler complete sooner, or raise the limit",
		}
	}
	return &next, nil
}

// Pause returns the call that goes on after a pause.
func Pause(c *posthouse.TaskCall, now time.Time, name string, wait time.Duration) *posthouse.TaskCall {
	next := *c
	next.Paused, next.NotBefore = name, now.Add(wait)
	return &next
}

// takesPlaceOf reports whether an open gate is a later attempt of a task, if the plan
// still keeps the earlier attempt's gate open.
func (c *Commit) takesPlaceOf(w *posthouse.WaitingGate) (bool, error) {
	if w.Kind != posthouse.GateTask {
		return false, nil
	}
	g, err := c.tx.WaitingGate(w)
	if err != nil {
		return false, err
	}
	for _, id := range c.plan.Open.Keep {
		kept, err := c.tx.Core.Logs.Gate(c.tx.Ctx, id)
		if errors.Is(err, posthouse.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		if kept.Call != nil && kept.Call.ID == g.Call.ID {
			return true, nil
		}
	}
	return false, nil
}
