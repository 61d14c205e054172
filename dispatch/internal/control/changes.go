package control

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/task"
)

// Slot is that of [task.Control].
func (c *Control) Slot(ctx context.Context, gate posthouse.ID) ([]byte, error) {
	g, err := c.gate(ctx, gate)
	if err != nil {
		return nil, err
	}
	slot, err := c.slots.Read(ctx, g)
	return slot.Value, err
}

// ClearSlot is that of [task.Control].
func (c *Control) ClearSlot(ctx context.Context, gate posthouse.ID) error {
	g, slot, err := c.unclaimed(ctx, gate)
	damaged := g != nil && errors.Is(err, posthouse.ErrCorrupt)
	if damaged {
		slot.Fence++ // whoever has the task loses it
	} else if err != nil || slot.Value == nil {
		return err
	}
	slot.Value = nil
	err = c.slots.Write(ctx, g, &slot)
	if claims.IsTaken(err) {
		return errClaimed(g.ID, "a worker")
	}
	return err
}

// Resume is that of [task.Control]. The gate's decision says who did it.
func (c *Control) Resume(ctx context.Context, gate posthouse.ID, by string) (*task.Info, error) {
	g, _, err := c.unclaimed(ctx, gate)
	if err != nil {
		return nil, err
	}
	if c.stateOf(g) == task.Ready {
		return c.info(ctx, g)
	}
	next := *g.Call
	next.NotBefore = c.core.Now().Truncate(time.Millisecond) // what is on record must not be later than now
	return c.replace(ctx, g, &next, by, "resumed before its time")
}

// Pause is that of [task.Control]. The gate's decision says who did it.
func (c *Control) Pause(ctx context.Context, gate posthouse.ID, wait time.Duration, by string) (*task.Info, error) {
	g, _, err := c.unclaimed(ctx, gate)
	if err != nil {
		return nil, err
	}
	if wait < task.MinPause || wait > task.MaxPause {
		return nil, posthouse.Invalid("for", "is %s; a pause is %s to 100 years", wait, task.MinPause)
	}
	next := *g.Call // a handler does not see this pause
	next.NotBefore = c.core.Now().Add(wait)
	return c.replace(ctx, g, &next, by, text.Paused)
}

// replace has a task that no worker has go on as another call.
func (c *Control) replace(ctx context.Context, g *posthouse.Gate, next *posthouse.TaskCall, by, why string) (*task.Info, error) {
	_, opened, err := commit.ResolveTask(ctx, c.core, commit.RefOf(g), &commit.TaskOutcome{By: by, Next: next, Why: why})
	if err != nil {
		return nil, err
	}
	c.decided(g.ID)
	c.opened(opened)
	return c.info(ctx, opened)
}

// unclaimed returns an open task that no worker has, and its slot. With [posthouse.ErrCorrupt],
// the slot is damaged.
func (c *Control) unclaimed(ctx context.Context, gate posthouse.ID) (g *posthouse.Gate, slot claims.Slot, err error) {
	g, err = c.gate(ctx, gate)
	if err != nil {
		return nil, slot, err
	}
	if g.Decision != nil {
		e := &posthouse.Error{Code: posthouse.CodeConflict, Gate: g.ID, Decision: g.Decision, Message: "task " + string(g.ID) + " is not open", Hint: listHint}
		if next := g.Decision.Successor; next != "" {
			e.Gate, e.Hint = next, "it goes on as another: posthouse task show "+string(next)
		}
		return nil, slot, e
	}
	slot, err = c.slots.Read(ctx, g)
	if err == nil && slot.IsClaimed(g) {
		err = errClaimed(g.ID, "worker "+slot.Worker)
	}
	return g, slot, err
}

func errClaimed(gate posthouse.ID, who string) error {
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Gate: gate, Message: who + " has the task of gate " + string(gate), Hint: "wait for its verdict, or cancel the thread",
	}
}
