package core

import (
	"bytes"
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// Executions returns what [threadlog.Logs.Executions] does of a branch's newest
// checkpoint, and keeps the results that the next one may refer to.
func (c *Core) Executions(ctx context.Context, head *posthouse.Header) (map[string]*threadlog.Execution, error) {
	all, recent, err := c.Logs.Executions(ctx, head)
	if err != nil {
		return nil, err
	}
	return all, c.keepRecent(ctx, head, recent)
}

// keepRecent lets the next checkpoint refer to results from before a restart.
func (c *Core) keepRecent(ctx context.Context, h *posthouse.Header, rs []threadlog.Result) error {
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
		for i := range rs {
			rs[i].Data = bytes.Clone(rs[i].Data) // the caller has these bytes
		}
		hd.record(rs...)
	}
	return err
}
