package dispatch

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/taskslot"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/hint"
)

// A holding is a claim of a session here.
type holding struct {
	id       task.ClaimID
	gate     *posthouse.Gate
	session  string    // its id; it is one of Dispatcher.sessions, or is being ended
	since    time.Time // when it was claimed, or this process heard of it
	deadline time.Time // of the attempt; zero for none
	steps    commit.TaskSteps
	found    atomic.Pointer[finding] // while a worker turns its pages
	lost     bool                    // the gate was decided, but not by this session; guarded by Dispatcher.mu
	delivery hint.Delivery           // of the hint that told of the task; nil: no queue did, or it knows; guarded likewise
}

// unreadablePause is how long a task waits whose gate or slot is damaged, or encrypted with a
// key that is not at hand.
const unreadablePause = time.Minute

// claim tries to give a task to a session. It returns nil if the task is gone, or somebody
// else has it. On an error it is in its queue again.
func (d *Dispatcher) claim(ctx context.Context, s *session, t *openTask) (*task.Claim, error) {
	c, again, err := d.tryClaim(ctx, s, t)
	return c, d.putBack(t, again, err)
}

// putBack forgets a task behind an attempt to claim it, or has it looked at again: after a
// time, or behind an error. It returns the error unless others can be claimed in spite of it.
func (d *Dispatcher) putBack(t *openTask, again time.Duration, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opt.AtOnce[t.name] > 0 {
		defer d.wake() // it may have made room
	}
	switch {
	case d.open[t.gate] != t: // dropped meanwhile
	case isUnreadable(err):
		d.opt.Logger.Warn("a task cannot be claimed", "gate", t.gate, "thread", t.thread, "error", err)
		err = nil
		if t.delivery != nil { // the queue is told again by the next look at all tasks
			d.strike(t)
			d.settle(t)
			break
		}
		t.ready = d.core.Now().Add(unreadablePause)
		d.enqueue(t)
	case err != nil || again > 0:
		t.ready, t.away = d.core.Now().Add(max(again, d.core.Config.RenewEvery())), t.away || again > 0
		t.touched = t.ready
		d.enqueue(t)
	default:
		d.strike(t)
		d.settle(t)
	}
	return err
}

// tryClaim writes a claim of a session into a task's slot. Without one, again says when the
// task is to be looked at again, 0 for never.
func (d *Dispatcher) tryClaim(ctx context.Context, s *session, t *openTask) (c *task.Claim, again time.Duration, err error) {
	g, err := d.claimable(ctx, t)
	if g == nil || err != nil {
		return nil, 0, err
	}
	r, slot, err := d.readSlot(ctx, g)
	if err != nil {
		return nil, 0, err
	}
	if r.Gate == g.ID && r.Session != "" {
		again, err := d.endDeadClaim(ctx, g, &r, slot.Fence)
		if again > 0 && t.doubt.asksNow(d.core.Now(), d.lease()) {
			d.askAbout(ctx, r.Session, g.ID)
		}
		return nil, again, err
	}
	if slot.Revision != 0 && r.Gate != g.ID { // a later gate's, if this one was decided meanwhile
		if now, err := d.ledger.Gate(ctx, t.gate); err != nil || now.Decision != nil {
			return nil, 0, err
		}
	}
	r.Gate, r.Session, r.Worker, r.Saves = g.ID, s.id, s.name, 0
	id := task.ClaimID{Gate: g.ID, Fence: fenceBelow(g, slot) + 1, Session: s.id}
	if _, err := d.writeSlot(ctx, g, &r, slot.Revision, id.Fence); err != nil {
		if errors.Is(err, posthouse.ErrConflict) || errors.Is(err, posthouse.ErrFenced) {
			return nil, d.core.Config.RenewEvery(), nil // somebody else was faster, and may be gone soon
		}
		return nil, 0, err
	}
	h := d.newHolding(id, g, s.id)
	if _, err := d.holdFor(ctx, h); err != nil { // the session ended meanwhile
		return nil, 0, errors.Join(err, d.letGo(ctx, h))
	}
	if gone, err := d.claimUse(ctx, h, s.name); gone || err != nil {
		return nil, 0, err
	}
	return newClaim(g, id), 0, nil
}

// claimable returns the gate of a task that may be claimed, nil for one that is gone.
func (d *Dispatcher) claimable(ctx context.Context, t *openTask) (*posthouse.Gate, error) {
	g, err := d.ledger.Gate(ctx, t.gate)
	if errors.Is(err, posthouse.ErrNotFound) || err == nil && g.Decision != nil {
		return nil, nil
	}
	if err != nil || d.isWrong(t, g) {
		return nil, err
	}
	if !g.ExpiresAt.IsZero() && !d.core.Now().Before(g.ExpiresAt) {
		return nil, nil // the runtime decides it
	}
	known := g
	if g, err = d.withGrant(ctx, g); err != nil {
		return nil, err
	}
	take := d.takeBack
	if g != known {
		take = d.takeUnnamed
	}
	if taken, err := take(ctx, g); taken || err != nil {
		return nil, err
	}
	return g, nil
}

// endDeadClaim ends the attempt that a slot says is being made, if its session is silent.
// Otherwise it notes the claim, where the session is here, or says when to look again.
func (d *Dispatcher) endDeadClaim(ctx context.Context, g *posthouse.Gate, r *record, fence uint64) (again time.Duration, err error) {
	alive, revision, err := d.isAlive(ctx, r.Session)
	if err != nil {
		return 0, err
	}
	if alive {
		if !d.adopt(r.Session, task.ClaimID{Gate: g.ID, Fence: fence}, g) {
			again = d.core.Config.RenewEvery()
		}
		return again, nil
	}
	if err := d.failAttempt(ctx, g, "worker "+r.Worker+" was silent for "+d.lease().String()); err != nil {
		return 0, err
	}
	d.dropLiveness(ctx, r.Session, revision)
	return 0, nil
}

// fenceBelow returns the fence that the next claim of a gate goes beyond. A slot that was
// deleted refuses fences that it has seen, and does not tell them. They were below this one,
// because the log has gone on since, and no gate is claimed a million times.
func fenceBelow(g *posthouse.Gate, slot posthouse.Slot) uint64 {
	if slot.Revision != 0 {
		return slot.Fence
	}
	return g.Seq << 20
}

// adopt notes a claim that a task's slot names, and reports whether its session is here. A claim
// that is noted already, or is older, changes nothing. Its answer was lost, or came from another
// process: if the worker's heartbeats do not name it for a lease, it goes to others.
func (d *Dispatcher) adopt(session string, id task.ClaimID, g *posthouse.Gate) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hold(d.newHolding(id, g, session)) != nil
}

// newHolding begins a claim here. The time of an attempt that began elsewhere counts from
// now on.
func (d *Dispatcher) newHolding(id task.ClaimID, g *posthouse.Gate, session string) *holding {
	id.Session = session
	h := &holding{id: id, gate: g, session: session, since: d.core.Now()}
	h.steps.Within, h.steps.Limit = within(g)+handler.Nested, task.MaxSteps
	h.steps.Earlier = func(ctx context.Context) ([]posthouse.StepRecord, error) {
		x, err := d.execution(ctx, g)
		if x == nil || err != nil {
			return nil, err
		}
		return x.Steps, nil
	}
	if limit := g.Call.Limits.Timeout; limit > 0 {
		h.deadline = h.since.Add(limit)
	}
	return h
}

func newClaim(g *posthouse.Gate, id task.ClaimID) *task.Claim {
	c := g.Call
	return &task.Claim{
		ID: id, Thread: g.Thread, Step: taskslot.Step(g), Call: c.ID, Key: c.Key, Grant: c.Grant, Task: c.Task, Group: c.Group, Input: g.Payload,
		Attempt: c.Attempt, Iteration: c.Iteration, Continued: c.Continued, Paused: c.Paused, Failure: c.Failure,
		Timeout: c.Limits.Timeout, NoSlot: c.Limits.NoSlot, Metadata: c.Metadata, Trace: c.Trace,
	}
}

// hold notes a claim, with the hint of an older one, unless a newer one is noted. It returns
// the one that is, nil if the session is not here: nobody would ever end such a claim. Callers
// hold d.mu.
func (d *Dispatcher) hold(h *holding) *holding {
	if d.sessions[h.session] == nil {
		return nil
	}
	old := d.held[h.id.Gate]
	if old != nil && old.id.Fence >= h.id.Fence {
		return old
	}
	if old != nil && h.delivery == nil {
		h.delivery = old.delivery
	}
	d.held[h.id.Gate] = h
	d.recount(h.gate.Call.Task, h.id.Gate)
	return h
}

// holdFor notes a claim as hold does, also of a session that comes from another process or
// comes back. Its error is that of a session that has ended.
func (d *Dispatcher) holdFor(ctx context.Context, h *holding) (*holding, error) {
	for {
		if _, err := d.session(ctx, h.session); err != nil {
			return nil, err
		}
		d.mu.Lock()
		noted := d.hold(h)
		d.mu.Unlock()
		if noted != nil {
			return noted, nil
		}
	}
}

// isAlive reports whether a session, here or at another process, has sent a heartbeat in
// its lease. The revision is that of its liveness if it has not, 0 if there is none.
func (d *Dispatcher) isAlive(ctx context.Context, session string) (alive bool, revision uint64, err error) {
	d.mu.Lock()
	_, here := d.sessions[session]
	d.mu.Unlock()
	if here {
		return true, 0, nil
	}
	slot, err := d.core.Store.Slot(ctx, livenessOf(session), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return false, 0, nil // it was ended
	}
	if err != nil && !errors.Is(err, posthouse.ErrCorrupt) {
		return false, 0, err
	}
	silent, err := d.core.Owners.IsSilent(ctx, session)
	return !silent, slot.Revision, err
}

// holds returns the caller's claim, also one that its session has from another process.
func (d *Dispatcher) holds(ctx context.Context, id task.ClaimID) (*holding, record, error) {
	h, lost := d.known(id)
	if lost {
		return nil, record{}, claimLost(id)
	}
	var g *posthouse.Gate
	var err error
	if h != nil {
		g = h.gate
	} else if g, err = d.ledger.Gate(ctx, id.Gate); errors.Is(err, posthouse.ErrNotFound) { // its thread was deleted
		return nil, record{}, claimLost(id)
	} else if err != nil {
		return nil, record{}, err
	} else if g, err = d.withGrant(ctx, g); err != nil {
		return nil, record{}, err
	}
	if g.Call == nil {
		return nil, record{}, posthouse.Invalid("gate", "%s is not a task's", id.Gate)
	}
	if g.Decision != nil {
		return nil, record{}, claimLost(id)
	}
	r, slot, err := d.readSlot(ctx, g)
	if err != nil {
		return nil, r, err
	}
	if slot.Fence != id.Fence || r.Gate != id.Gate || r.Session == "" || h != nil && h.session != r.Session {
		return nil, r, claimLost(id)
	}
	if err := d.mayUse(ctx, id, r.Session); err != nil {
		return nil, record{}, err
	}
	if h != nil {
		return h, r, nil
	}
	h, err = d.holdFor(ctx, d.newHolding(id, g, r.Session))
	if errors.Is(err, posthouse.ErrNotFound) || isUnreadable(err) {
		return nil, r, claimLost(id)
	}
	return h, r, err // another error is that the store does not say
}

// known returns a claim that is known here, and whether it is lost. An older claim that is
// known says nothing of one that was given by another process.
func (d *Dispatcher) known(id task.ClaimID) (h *holding, lost bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h = d.held[id.Gate]
	switch {
	case h == nil:
		return nil, false
	case h.id.Fence < id.Fence:
		return nil, h.lost // the gate is decided
	}
	return h, h.lost || h.id.Fence != id.Fence
}

func claimLost(id task.ClaimID) error {
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Gate: id.Gate, Message: "this worker does not have the task of gate " + string(id.Gate) + " any more",
		Hint: "stop the handler: the task was resolved, cancelled or given to another worker",
	}
}

// forget forgets a claim that is over.
func (d *Dispatcher) forget(h *holding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held[h.id.Gate] == h {
		delete(d.held, h.id.Gate)
		d.recount(h.gate.Call.Task, h.id.Gate)
		if h.delivery != nil {
			h.delivery.Later(0)
		}
		if d.opt.AtOnce[h.gate.Call.Task] > 0 {
			d.wake() // another one may be claimed
		}
	}
}

// giveBack ends a claim whose worker does not go on. Its attempt is made by another, unless
// that would do an effect again of which nobody knows whether it happened.
func (d *Dispatcher) giveBack(ctx context.Context, h *holding) error {
	if !h.gate.Call.Once() {
		return d.letGo(ctx, h)
	}
	if err := d.failAttempt(ctx, h.gate, "its worker stopped, and did not say whether it acted"); err != nil {
		return err
	}
	d.forget(h)
	return nil
}

// letGo frees a claim, so that its attempt is made by another.
func (d *Dispatcher) letGo(ctx context.Context, h *holding) error {
	defer d.add(h.gate, true)
	defer d.forget(h)
	r, slot, err := d.readSlot(ctx, h.gate)
	if err != nil {
		return err
	}
	if slot.Fence != h.id.Fence || r.Gate != h.id.Gate {
		return nil
	}
	r.Session = ""
	_, err = d.writeSlot(ctx, h.gate, &r, slot.Revision, h.id.Fence)
	return err
}
