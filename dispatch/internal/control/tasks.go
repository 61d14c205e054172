package control

import (
	"context"
	"errors"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/internal/taskslot"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// Tasks is that of [task.Control]. It reads a slot for each task.
func (c *Control) Tasks(ctx context.Context, q task.Query) iter.Seq2[*task.Info, error] {
	if q.Failed {
		return c.failedTasks(ctx, q)
	}
	return func(yield func(*task.Info, error) bool) {
		if err := c.sessions.ListPeers(ctx, c.core.Config.LeaseTTL); err != nil {
			yield(nil, err)
			return
		}
		for g, err := range c.ledger.Gates(ctx, ledger.GateQuery{Kind: posthouse.GateTask, Thread: q.Thread, Newest: q.Newest, After: q.After}) {
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
			if !yield(c.info(ctx, g)) {
				return
			}
		}
	}
}

// Task is that of [task.Control].
func (c *Control) Task(ctx context.Context, gate posthouse.ID) (*task.Info, error) {
	g, err := c.gate(ctx, gate)
	if err == nil {
		err = c.sessions.ListPeers(ctx, c.core.Config.LeaseTTL)
	}
	if err != nil {
		return nil, err
	}
	return c.info(ctx, g)
}

// listHint says how to find a task.
const listHint = "list them: posthouse task list"

func (c *Control) gate(ctx context.Context, id posthouse.ID) (*posthouse.Gate, error) {
	g, err := c.ledger.Gate(ctx, id)
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
func (c *Control) info(ctx context.Context, g *posthouse.Gate) (*task.Info, error) {
	i := &task.Info{
		ID: g.ID, Thread: g.Thread, Branch: g.Branch, Step: taskslot.Step(g), State: c.stateOf(g), Call: *g.Call, Input: g.Payload,
		CreatedAt: g.CreatedAt, ExpiresAt: g.ExpiresAt, Decision: g.Decision,
	}
	if g.Decision == nil {
		i.Handlers = c.sessions.CountHandlers(board.KeyOf(g.Call))
	}
	slot, err := c.slots.Read(ctx, g)
	if err != nil {
		return i, err
	}
	i.Worker, i.Saved = slot.Worker, len(slot.Value)
	if slot.IsClaimed(g) && g.Decision == nil {
		i.State, i.Session = task.Claimed, slot.Session
	}
	return i, nil
}

// stateOf says what a task waits for, if no worker has it.
func (c *Control) stateOf(g *posthouse.Gate) task.State {
	switch {
	case g.Decision != nil && g.Decision.Successor == "" && (g.Decision.Verdict == posthouse.Reject || g.Decision.Verdict == posthouse.Expire):
		return task.Failed
	case g.Decision != nil:
		return task.Decided
	case !c.core.Now().Before(g.Call.NotBefore):
		return task.Ready
	case g.Call.Paused != "":
		return task.Paused
	}
	return task.Delayed
}
