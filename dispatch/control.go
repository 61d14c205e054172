package dispatch

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/taskslot"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

var _ task.Control = (*Dispatcher)(nil)

// Tasks implements [task.Control]. It reads a slot for each task.
func (d *Dispatcher) Tasks(ctx context.Context, q task.Query) iter.Seq2[*task.Info, error] {
	if q.Failed {
		return d.failedTasks(ctx, q)
	}
	return func(yield func(*task.Info, error) bool) {
		if err := d.findPeers(ctx, d.lease()); err != nil {
			yield(nil, err)
			return
		}
		for g, err := range d.ledger.Gates(ctx, ledger.GateQuery{Kind: posthouse.GateTask, Thread: q.Thread, Newest: q.Newest, After: q.After}) {
			if g == nil {
				yield(nil, err)
				return
			}
			if err != nil || g.Call == nil {
				if !yield(&task.Info{ID: g.ID, Thread: g.Thread, Branch: g.Branch}, err) {
					return
				}
				continue
			}
			if q.Task != "" && q.Task != g.Call.Task {
				continue
			}
			if !yield(d.info(ctx, g)) {
				return
			}
		}
	}
}

// Task implements [task.Control].
func (d *Dispatcher) Task(ctx context.Context, gate posthouse.ID) (*task.Info, error) {
	g, err := d.gate(ctx, gate)
	if err == nil {
		err = d.findPeers(ctx, d.lease())
	}
	if err != nil {
		return nil, err
	}
	return d.info(ctx, g)
}

// listHint says how to find a task.
const listHint = "list them: posthouse task list"

func (d *Dispatcher) gate(ctx context.Context, id posthouse.ID) (*posthouse.Gate, error) {
	g, err := d.ledger.Gate(ctx, id)
	if errors.Is(err, posthouse.ErrNotFound) {
		e := posthouse.NotFound("task", id)
		e.Hint = listHint
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	if g.Call == nil {
		e := posthouse.NotFound("task", id)
		e.Hint = "the gate of that id asks for something else"
		return nil, e
	}
	return g, nil
}

// info says where a task is. With an error, it says what it could find out.
func (d *Dispatcher) info(ctx context.Context, g *posthouse.Gate) (*task.Info, error) {
	i := &task.Info{
		ID: g.ID, Thread: g.Thread, Branch: g.Branch, Step: taskslot.Step(g), State: d.stateOf(g), Call: *g.Call, Input: g.Payload,
		CreatedAt: g.CreatedAt, ExpiresAt: g.ExpiresAt, Decision: g.Decision,
	}
	if g.Decision == nil {
		d.mu.Lock()
		i.Handlers = d.handlers(g.Call.Task, g.Call.Group)
		d.mu.Unlock()
	}
	r, _, err := d.readSlot(ctx, g)
	if err != nil {
		return i, err
	}
	i.Worker, i.Saved = r.Worker, len(r.Value)
	if r.Gate == g.ID && r.Session != "" && g.Decision == nil {
		i.State, i.Session = task.Claimed, r.Session
	}
	return i, nil
}

// stateOf says what a task waits for that nobody has.
func (d *Dispatcher) stateOf(g *posthouse.Gate) task.State {
	switch {
	case g.Decision != nil && g.Decision.Successor == "" && (g.Decision.Verdict == posthouse.Reject || g.Decision.Verdict == posthouse.Expire):
		return task.Failed
	case g.Decision != nil:
		return task.Decided
	case !d.core.Now().Before(g.Call.NotBefore):
		return task.Ready
	case g.Call.Paused != "":
		return task.Paused
	}
	return task.Delayed
}

// Slot implements [task.Control].
func (d *Dispatcher) Slot(ctx context.Context, gate posthouse.ID) ([]byte, error) {
	g, err := d.gate(ctx, gate)
	if err != nil {
		return nil, err
	}
	r, _, err := d.readSlot(ctx, g)
	return r.Value, err
}

// ClearSlot implements [task.Control].
func (d *Dispatcher) ClearSlot(ctx context.Context, gate posthouse.ID) error {
	g, r, slot, err := d.free(ctx, gate)
	damaged := g != nil && errors.Is(err, posthouse.ErrCorrupt)
	if damaged {
		slot.Fence++ // whoever has the task loses it
	} else if err != nil || r.Value == nil {
		return err
	}
	r.Value = nil
	_, err = d.writeSlot(ctx, g, &r, slot.Revision, slot.Fence)
	if errors.Is(err, posthouse.ErrConflict) || errors.Is(err, posthouse.ErrFenced) {
		return isClaimed(g.ID, "a worker")
	}
	return err
}

// Resume implements [task.Control]. The gate's decision says who did it.
func (d *Dispatcher) Resume(ctx context.Context, gate posthouse.ID, by string) (*task.Info, error) {
	g, _, _, err := d.free(ctx, gate)
	if err != nil {
		return nil, err
	}
	if d.stateOf(g) == task.Ready {
		return d.info(ctx, g)
	}
	next := *g.Call
	next.NotBefore = d.core.Now().Truncate(time.Millisecond) // what is on record must not be later than now
	return d.replace(ctx, g, &next, by, "resumed before its time")
}

// Pause implements [task.Control]. The gate's decision says who did it.
func (d *Dispatcher) Pause(ctx context.Context, gate posthouse.ID, wait time.Duration, by string) (*task.Info, error) {
	g, _, _, err := d.free(ctx, gate)
	if err != nil {
		return nil, err
	}
	if wait < task.MinPause || wait > task.MaxPause {
		return nil, posthouse.Invalid("for", "is %s; a pause is %s to 100 years", wait, task.MinPause)
	}
	next := *g.Call // a handler does not see this pause
	next.NotBefore = d.core.Now().Add(wait)
	return d.replace(ctx, g, &next, by, "paused")
}

// replace has a task that nobody has go on as another call.
func (d *Dispatcher) replace(ctx context.Context, g *posthouse.Gate, next *posthouse.TaskCall, by, why string) (*task.Info, error) {
	_, opened, err := commit.ResolveTask(ctx, d.core, commit.PlaceOf(g), &commit.TaskOutcome{By: by, Next: next, Why: why})
	if err != nil {
		return nil, err
	}
	d.drop(g.ID)
	d.add(opened, false)
	return d.info(ctx, opened)
}

// free returns an open task that no worker has. With [posthouse.ErrCorrupt], its slot is
// damaged.
func (d *Dispatcher) free(ctx context.Context, gate posthouse.ID) (g *posthouse.Gate, r record, slot posthouse.Slot, err error) {
	if g, err = d.gate(ctx, gate); err != nil {
		return nil, r, slot, err
	}
	if g.Decision != nil {
		e := &posthouse.Error{Code: posthouse.CodeConflict, Gate: g.ID, Decision: g.Decision, Message: "task " + string(g.ID) + " is not open", Hint: listHint}
		if next := g.Decision.Successor; next != "" {
			e.Gate, e.Hint = next, "it goes on as another: posthouse task show "+string(next)
		}
		return nil, r, slot, e
	}
	if r, slot, err = d.readSlot(ctx, g); err == nil && r.Gate == g.ID && r.Session != "" {
		err = isClaimed(g.ID, "worker "+r.Worker)
	}
	return g, r, slot, err
}

func isClaimed(gate posthouse.ID, who string) error {
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Gate: gate, Message: who + " has the task of gate " + string(gate), Hint: "wait for its verdict, or cancel the thread",
	}
}
