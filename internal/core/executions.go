package core

import (
	"bytes"
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// minKept is from how many entries on it pays to keep what was read of executions.
const minKept = 32

// Executions returns what is on record of each task after a branch's newest checkpoint, see
// [threadlog.Logs.Unfinished]. It keeps the results that the next checkpoint may refer to. While a
// run of this process has the thread, it also keeps what it read of long executions: the next call
// reads only what was appended since. The caller may change what [threadlog.Unfinished.Copy] says.
func (c *Core) Executions(ctx context.Context, head *posthouse.Header) (map[string]*threadlog.Execution, error) {
	u, err := c.unfinished(ctx, head)
	if err != nil {
		return nil, err
	}
	if all := c.keepUnfinished(head, u); all != nil {
		return all, c.keepRecent(ctx, head, u.Recents(), false)
	}
	return u.Take(), c.keepRecent(ctx, head, u.Recents(), true)
}

// ReadExecutions is [Core.Executions] for callers who may change all of the result: it is read from
// the log.
func (c *Core) ReadExecutions(ctx context.Context, head *posthouse.Header) (map[string]*threadlog.Execution, error) {
	u, err := c.Logs.Unfinished(ctx, head)
	if err != nil {
		return nil, err
	}
	return u.Take(), c.keepRecent(ctx, head, u.Recents(), true)
}

// unfinished reads on from what is kept, or from the beginning of the executions.
func (c *Core) unfinished(ctx context.Context, head *posthouse.Header) (*threadlog.Unfinished, error) {
	if u := c.takeUnfinished(head); u != nil {
		if ok, err := u.ReadOn(ctx, c.Logs, head); ok && err == nil {
			return u, nil
		}
	}
	return c.Logs.Unfinished(ctx, head)
}

// takeUnfinished takes what is kept of a branch: only one caller may use it. Others read from the
// beginning.
func (c *Core) takeUnfinished(head *posthouse.Header) *threadlog.Unfinished {
	t := c.lockHeld(head.Thread)
	if t == nil {
		return nil
	}
	defer c.Unlock(t)
	u := t.unfinished[head.Branch]
	delete(t.unfinished, head.Branch)
	return u
}

// keepUnfinished keeps what was read of a branch and returns a copy, or nil if it is not worth that.
func (c *Core) keepUnfinished(head *posthouse.Header, u *threadlog.Unfinished) map[string]*threadlog.Execution {
	if u.Entries() < minKept || !u.CanReadOn() {
		return nil
	}
	t := c.lockHeld(head.Thread)
	if t == nil {
		return nil
	}
	defer c.Unlock(t)
	if t.unfinished == nil {
		t.unfinished = map[string]*threadlog.Unfinished{}
	}
	t.unfinished[head.Branch] = u
	return u.Copy()
}

// lockHeld locks and returns a thread that a run of this process has, or nil if there is no such run.
func (c *Core) lockHeld(thread string) *Thread {
	c.mu.Lock()
	t := c.threads[thread]
	c.mu.Unlock()
	if t == nil {
		return nil
	}
	t.mu.Lock()
	if t.Claim == nil {
		t.mu.Unlock()
		return nil
	}
	return t
}

// keepRecent lets the next checkpoint refer to results from before a restart. Handed says that the
// caller has their bytes.
func (c *Core) keepRecent(ctx context.Context, h *posthouse.Header, rs []threadlog.Result, handed bool) error {
	if len(rs) == 0 {
		return nil
	}
	t, err := c.Lock(h.Thread)
	if err != nil {
		return err
	}
	defer c.Unlock(t)
	if err := c.Load(ctx, t); err != nil {
		return err
	}
	hd, err := c.headOf(ctx, t, h.Branch)
	if err == nil && hd != nil && hd.ID == h.ID && len(hd.recent) == 0 {
		rs = newest(rs)
		if handed {
			rs = slices.Clone(rs)
			for i := range rs {
				rs[i].Data = bytes.Clone(rs[i].Data)
			}
		}
		hd.record(rs...)
	}
	return err
}
