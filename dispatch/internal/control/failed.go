package control

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/internal/taskslot"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// failedTasks yields the tasks with which branches failed, thread by thread.
func (c *Control) failedTasks(ctx context.Context, q task.Query) iter.Seq2[*task.Info, error] {
	return func(yield func(*task.Info, error) bool) {
		threads := posthouse.ThreadQuery{Thread: q.Thread, Status: posthouse.StatusFailed, Descending: q.Newest, After: q.AfterThread}
		if q.After != "" && q.AfterThread == "" {
			g, err := c.gate(ctx, q.After)
			if err != nil {
				yield(nil, err)
				return
			}
			threads.After = g.Thread
		}
		if q.After != "" && !c.failedOf(ctx, threads.After, q, yield) { // the rest of the cursor's own thread
			return
		}
		q.After = ""
		for t, err := range c.ledger.Threads(ctx, threads) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !c.failedOf(ctx, t.Thread, q, yield) {
				return
			}
		}
	}
}

// failedOf yields those of a thread, after the query's cursor. It reports whether to go on.
func (c *Control) failedOf(ctx context.Context, thread string, q task.Query, yield func(*task.Info, error) bool) bool {
	gates, err := c.failedGates(ctx, thread)
	var after uint64
	if err == nil && q.After != "" {
		after, err = c.seqOf(ctx, q.After)
	}
	if err != nil {
		return yield(&task.Info{Thread: thread}, err)
	}
	for _, g := range gates {
		if g.Seq > after && (q.Task == "" || q.Task == g.Call.Task) && !yield(c.info(ctx, g)) {
			return false
		}
	}
	return true
}

// seqOf returns a gate's sequence number, 0 for one that is gone.
func (c *Control) seqOf(ctx context.Context, gate posthouse.ID) (uint64, error) {
	g, err := c.ledger.Gate(ctx, gate)
	if errors.Is(err, posthouse.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return g.Seq, nil
}

func (c *Control) failedGates(ctx context.Context, thread string) (all []*posthouse.Gate, err error) {
	t, err := c.ledger.Thread(ctx, thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, nil // it has gone since
	}
	if err != nil {
		return nil, err
	}
	for _, b := range t.Branches {
		if b.Status != posthouse.StatusFailed {
			continue
		}
		head, err := c.ledger.GetHeader(ctx, b.Head)
		if err != nil {
			return nil, err
		}
		gates, err := ledger.FailedTasks(ctx, c.ledger, head)
		if err != nil {
			return nil, err
		}
		all = append(all, gates...)
	}
	slices.SortFunc(all, func(a, b *posthouse.Gate) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, nil
}

// Retry is that of [task.Control].
func (c *Control) Retry(ctx context.Context, gate posthouse.ID, by string) (*task.Info, error) {
	g, err := ledger.RetryTask(ctx, c.ledger, gate, &ledger.RetryOptions{By: by, Fork: c.copySlot})
	if err != nil {
		return nil, err
	}
	c.opened(g)
	return c.info(ctx, g)
}

// copySlot gives a task on another branch what its handlers saved. Where it has a slot, it has
// been opened there before.
func (c *Control) copySlot(ctx context.Context, failed, again *posthouse.Gate) error {
	saved, err := c.slots.Read(ctx, failed)
	if err != nil || saved.Value == nil {
		return err
	}
	slot := claims.Slot{Record: taskslot.Record{Call: saved.Call, Sealed: saved.Sealed, Value: saved.Value}}
	err = c.slots.Write(ctx, again, &slot)
	if errors.Is(err, posthouse.ErrConflict) {
		return nil
	}
	return err
}

// Purge is that of [task.Control]. It does nothing if another call has the task go on.
func (c *Control) Purge(ctx context.Context, gate posthouse.ID, by string) error {
	g, err := c.gate(ctx, gate)
	if err != nil {
		return err
	}
	head, err := c.failedHead(ctx, g)
	if err != nil {
		return err
	}
	slot, err := c.core.Store.Slot(ctx, taskslot.Key(g), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if err != nil && !errors.Is(err, posthouse.ErrNotFound) && !errors.Is(err, posthouse.ErrCorrupt) {
		return err
	}
	damaged := errors.Is(err, posthouse.ErrCorrupt)
	if _, err := c.ledger.Cancel(ctx, g.Thread, &ledger.CancelOptions{Branch: g.Branch, Head: head, By: by, Reason: "gave up task " + g.Call.Task}); err != nil {
		return err
	}
	if damaged {
		slot.Revision = posthouse.AnyRevision
	}
	if slot.Revision == 0 {
		return nil
	}
	_, err = c.core.Store.Slot(ctx, taskslot.Key(g), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: slot.Revision})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	return err
}

// failedHead returns the head with which a task's branch failed. [posthouse.ErrConflict] if it
// did not fail with that task, or has gone on.
func (c *Control) failedHead(ctx context.Context, g *posthouse.Gate) (posthouse.ID, error) {
	t, err := c.ledger.Thread(ctx, g.Thread)
	if err != nil {
		return "", err
	}
	if b, ok := t.Branch(g.Branch); ok && b.Status == posthouse.StatusFailed {
		head, err := c.ledger.GetHeader(ctx, b.Head)
		if err != nil {
			return "", err
		}
		gates, err := ledger.FailedTasks(ctx, c.ledger, head)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(gates, func(f *posthouse.Gate) bool { return f.ID == g.ID }) {
			return b.Head, nil
		}
	}
	return "", &posthouse.Error{
		Code: posthouse.CodeConflict, Gate: g.ID, Message: "no branch waits for somebody to retry task " + string(g.ID),
		Hint: "list those that failed: posthouse task list --failed",
	}
}
