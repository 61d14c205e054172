package core

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// Heartbeat renews this process's liveness slot. While that happens more often than
// LeaseTTL, others leave this process's threads alone.
//
// The Ledger calls it while runs have threads: each second, or four times per lease if
// that is shorter. It does not on a store that only this process has open, where nobody
// looks.
func (c *Core) Heartbeat(ctx context.Context) error {
	_, err := c.Store.Slot(ctx, posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: c.Config.Owner}, posthouse.SlotOp{
		Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Value: strconv.AppendInt(nil, c.Config.Now().UnixMilli(), 10),
	})
	return err
}

// A heartbeat renews the liveness of a process while it has claims. Between two
// renewals it is a timer, not a goroutine. A run shorter than that writes nothing.
type heartbeat struct {
	mu     sync.Mutex
	claims int
	timer  *time.Timer // nil: nothing was claimed yet
	closed bool
}

func (p *heartbeat) claimed(c *Core) {
	if c.exclusive() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims++
	switch {
	case p.closed || p.claims > 1:
	case p.timer == nil:
		p.timer = time.AfterFunc(c.heartbeatEvery(), func() { p.renew(c) })
	default:
		p.timer.Reset(c.heartbeatEvery())
	}
}

func (p *heartbeat) released() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		return // none counts on this store
	}
	if p.claims--; p.claims == 0 {
		p.timer.Stop()
	}
}

// stop ends the heartbeat, even with claims.
func (p *heartbeat) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

func (p *heartbeat) isOn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claims > 0 && !p.closed
}

func (p *heartbeat) renew(c *Core) {
	ctx, cancel := context.WithTimeout(context.Background(), c.Config.LeaseTTL)
	defer cancel()
	if err := c.Heartbeat(ctx); err != nil && p.isOn() {
		c.Config.Logger.Warn("cannot renew this process's liveness: others may take its threads", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claims > 0 && !p.closed {
		p.timer.Reset(c.heartbeatEvery())
	}
}

func (c *Core) heartbeatEvery() time.Duration {
	return max(min(time.Second, c.Config.LeaseTTL/4), time.Millisecond)
}

// exclusive reports whether only this process has the store open for writing.
func (c *Core) exclusive() bool {
	return c.runs() != nil
}

// An ownerWatch remembers when it saw each owner's liveness slot change, by this
// process's monotonic clock. It never compares clocks of two processes.
type ownerWatch struct {
	mu   sync.Mutex
	seen map[string]ownerSighting
}

const maxOwners = 10000

type ownerSighting struct {
	revision uint64
	at       time.Time
}

func (w *ownerWatch) gone(ctx context.Context, c *Core, owner string) (bool, error) {
	slot, err := c.Store.Slot(ctx, posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: owner}, posthouse.SlotOp{Verb: posthouse.SlotGet})
	if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
		return false, err
	}
	now := c.Config.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.seen[owner]
	if !ok || last.revision != slot.Revision {
		if len(w.seen) >= maxOwners || w.seen == nil {
			w.seen = map[string]ownerSighting{} // the others' threads then wait once more
		}
		w.seen[owner] = ownerSighting{slot.Revision, now}
		return false, nil
	}
	return now.Sub(last.at) >= c.Config.LeaseTTL, nil
}

// runs returns the store's Runs if only this process has it open for writing, else nil.
func (c *Core) runs() *posthouse.Runs {
	if x, ok := c.Store.(posthouse.Excluder); ok && x.Exclusive() {
		return x.Runs()
	}
	return nil
}
