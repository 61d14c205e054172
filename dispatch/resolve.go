package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/taskslot"
	"github.com/posthouse/posthouse/task"
)

// WorkerPrefix begins the name under which a worker's verdict is on record.
const WorkerPrefix = posthouse.WorkerPrefix

// Resolve implements [task.Engine].
func (d *Dispatcher) Resolve(ctx context.Context, id task.ClaimID, v task.Verdict) error {
	if err := v.Check(); err != nil {
		return err
	}
	h, r, err := d.holds(ctx, id)
	if errors.Is(err, posthouse.ErrConflict) {
		return d.resolveAgain(ctx, id, &v)
	}
	if err != nil {
		return err
	}
	if v.Action == task.Interrupt {
		return d.giveBack(ctx, h)
	}
	o := d.outcome(h.gate.Call, r.Worker, &v)
	if v.Action == task.Await {
		if o.Waits, err = d.parked(ctx, h.gate, v.Waits, h.session); err != nil {
			return err
		}
	}
	err = d.resolve(ctx, h.gate, o)
	if err == nil || isOver(err) {
		d.forget(h)
	}
	if isOver(err) {
		return d.resolveAgain(ctx, id, &v)
	}
	return err
}

// isOver reports whether an error says that a task's gate is decided.
func isOver(err error) bool {
	return errors.Is(err, posthouse.ErrDecided) || errors.Is(err, posthouse.ErrExpired) || errors.Is(err, posthouse.ErrConflict)
}

// resolve records an outcome, and adds the task that goes on from there.
func (d *Dispatcher) resolve(ctx context.Context, g *posthouse.Gate, o *commit.TaskOutcome) error {
	_, next, err := commit.ResolveTask(ctx, d.core, commit.PlaceOf(g), o)
	if err != nil {
		return err
	}
	d.mu.Lock()
	switch {
	case o.Failed != "":
		d.failed++
	case o.Next != nil && o.Next.Attempt > g.Call.Attempt:
		d.retries++
	}
	if t := d.open[g.ID]; t != nil && t.place < 0 {
		d.strike(t)
		d.settle(t)
	}
	if h := d.held[g.ID]; h != nil && h.delivery != nil {
		h.delivery.Ack()
		h.delivery = nil
	}
	d.mu.Unlock()
	if next != nil {
		d.add(next, false)
	}
	return nil
}

// outcome says what a verdict makes of a task.
func (d *Dispatcher) outcome(c *posthouse.TaskCall, worker string, v *task.Verdict) *commit.TaskOutcome {
	now := d.core.Now()
	o := &commit.TaskOutcome{By: WorkerPrefix + worker, Why: whyOf(v)}
	switch v.Action {
	case task.Complete:
		o.Output = v.Output
	case task.FailPermanent:
		o.Failed, o.Undone = v.Reason, true
	case task.Unknown:
		if o.Unknown = true; !c.Once() {
			o.Next = commit.NextAttempt(c, now, v.Reason, 0)
		}
		if o.Next == nil {
			o.Failed = v.Reason
		}
	case task.Fail, task.RetryAfter:
		o.Undone = true
		if o.Next = commit.NextAttempt(c, now, v.Reason, v.Delay); o.Next == nil {
			o.Failed = v.Reason
		}
	case task.Pause:
		o.Next = commit.Pause(c, now, v.Name, v.Delay)
	case task.Continue:
		var err error
		if o.Next, err = commit.NextIteration(c, now, v.Output); err != nil {
			o.Failed = err.Error()
		}
	}
	return o
}

// whyOf is what the log says of a verdict behind which the task goes on.
func whyOf(v *task.Verdict) string {
	switch v.Action {
	case task.Pause:
		return "paused: " + v.Name
	case task.Continue:
		return "goes on with the next iteration"
	}
	return v.Reason
}

// failAttempt ends an attempt whose worker is gone. The next one begins at once. With an
// error, the caller has to see to it that it is called again.
func (d *Dispatcher) failAttempt(ctx context.Context, g *posthouse.Gate, why string) error {
	o := &commit.TaskOutcome{By: posthouse.RuntimeActor, Why: why, Unknown: g.Call.Grant != ""}
	once := false
	if g.Call.Once() {
		var err error
		if once, err = d.wasClaimed(ctx, g); err != nil {
			d.opt.Logger.Warn("cannot end an attempt", "gate", g.ID, "why", why, "error", err)
			return err
		}
	}
	if !once {
		o.Next = commit.NextAttempt(g.Call, d.core.Now(), why, time.Millisecond)
	}
	if o.Next == nil {
		o.Failed = why
	}
	err := d.resolve(ctx, g, o)
	if err == nil || isOver(err) {
		return nil
	}
	d.opt.Logger.Warn("cannot end an attempt", "gate", g.ID, "why", why, "error", err)
	return err
}

// resolveAgain returns nil if the task has this claim's verdict already: its answer was lost on
// the way, or another call brought it. Otherwise the claim is lost.
func (d *Dispatcher) resolveAgain(ctx context.Context, id task.ClaimID, v *task.Verdict) error {
	g, err := d.ledger.Gate(ctx, id.Gate)
	if errors.Is(err, posthouse.ErrNotFound) {
		return claimLost(id)
	}
	if err != nil {
		return err
	}
	if g.Call == nil || g.Decision == nil {
		return claimLost(id)
	}
	r, slot, err := d.readSlot(ctx, g)
	// A slot that the next attempt has does not say who made this one. Then the content tells.
	named := r.Gate == id.Gate
	p := task.PassOf(ctx)
	switch {
	case isUnreadable(err):
		return claimLost(id)
	case err != nil:
		return err
	case named && slot.Fence != id.Fence, named && g.Decision.By != WorkerPrefix+r.Worker,
		named && id.Session != r.Session && id.Session != "", p != nil && g.Decision.By != WorkerPrefix+p.Name:
		return claimLost(id)
	}
	same, err := d.isVerdict(ctx, g, v)
	if err == nil && !same {
		return claimLost(id)
	}
	return err
}

// isVerdict reports whether a task's decision is what a verdict makes of it.
func (d *Dispatcher) isVerdict(ctx context.Context, g *posthouse.Gate, v *task.Verdict) (bool, error) {
	dec := g.Decision
	failed := dec.Verdict == posthouse.Reject
	goesOn := dec.Successor != "" && dec.Reason == whyOf(v)
	switch v.Action {
	case task.Complete:
		return dec.Verdict == posthouse.Respond && commit.SameJSON(dec.Value, v.Output), nil
	case task.FailPermanent:
		return failed && dec.Reason == v.Reason, nil
	case task.Fail, task.RetryAfter, task.Unknown:
		return goesOn || failed && dec.Reason == v.Reason, nil
	case task.Pause:
		return goesOn, nil
	case task.Await:
		return dec.Verdict == commit.Parked && sameWaits(dec.Value, v.Waits), nil
	case task.Continue:
		if goesOn {
			next, err := d.ledger.Gate(ctx, dec.Successor)
			return err == nil && next.Call != nil && commit.SameJSON(next.Call.Continued, v.Output), err
		}
		_, err := commit.NextIteration(g.Call, dec.At, v.Output)
		return failed && err != nil && dec.Reason == err.Error(), nil // it was the last iteration
	}
	return false, nil
}

// Load implements [task.Engine].
func (d *Dispatcher) Load(ctx context.Context, id task.ClaimID) ([]byte, error) {
	_, r, err := d.holds(ctx, id)
	return r.Value, err
}

// Save implements [task.Engine].
func (d *Dispatcher) Save(ctx context.Context, id task.ClaimID, n uint64, value []byte) error {
	if len(value) > task.MaxSlot {
		return posthouse.TooLarge("slot", len(value), task.MaxSlot)
	}
	for {
		h, r, err := d.holds(ctx, id)
		if err != nil {
			return err
		}
		if r.Sealed, err = d.keepsSlot(ctx, h.gate); err != nil {
			return err
		}
		if n != 0 && n <= r.Saves {
			return nil
		}
		r.Value, r.Saves = value, max(n, r.Saves)
		_, err = d.writeSlot(ctx, h.gate, &r, r.Revision, id.Fence)
		if errors.Is(err, posthouse.ErrFenced) {
			return claimLost(id)
		}
		if !errors.Is(err, posthouse.ErrConflict) { // with it, another save came first, or another claim
			return err
		}
	}
}

// keepsSlot returns an error for a task that has no slot, and the generation whose data key
// seals the slot, 0 in a thread that is not encrypted.
func (d *Dispatcher) keepsSlot(ctx context.Context, g *posthouse.Gate) (sealed uint32, err error) {
	if g.Call.Limits.NoSlot {
		return 0, &posthouse.Error{Code: posthouse.CodeUnsupported, Field: "slot", Message: "is not there for task " + g.Call.Task, Hint: "unset NoSlot where it is handed out"}
	}
	info, err := d.ledger.Thread(ctx, g.Thread)
	if err != nil {
		return 0, err
	}
	if info.Sealed {
		sealed = info.Generation
	}
	return sealed, nil
}

// Signal implements [task.Engine].
func (d *Dispatcher) Signal(ctx context.Context, id task.ClaimID, thread string, s posthouse.Signal) error {
	h, r, err := d.holds(ctx, id)
	if err != nil {
		return err
	}
	if err := checkSignal(&s); err != nil {
		return err
	}
	if !d.hasTaskIn(h.session, thread) {
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Field: "thread", Message: fmt.Sprintf("thread %.200q has no task that this worker has", thread),
			Hint: "a worker signals threads of its own tasks; have the program that handed the task out signal others",
		}
	}
	s.By = WorkerPrefix + r.Worker
	if ctx, err = d.onBehalf(ctx, h.gate); err != nil {
		return err
	}
	_, err = d.ledger.Signal(ctx, thread, s)
	return err
}

// Stream implements [task.Engine].
func (d *Dispatcher) Stream(ctx context.Context, id task.ClaimID, chunk json.RawMessage) error {
	if len(chunk) > task.MaxChunk {
		return posthouse.TooLarge("chunk", len(chunk), task.MaxChunk)
	}
	h, _, err := d.holds(ctx, id)
	if err != nil {
		return err
	}
	if d.opt.Stream != nil {
		d.opt.Stream(ctx, h.gate.Thread, taskslot.Step(h.gate), chunk)
	}
	return nil
}
