package core

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// Heartbeat renews this process's liveness slot. While that happens more often than
// LeaseTTL, others leave this process's threads alone.
//
// The Ledger calls it while runs have threads, each [Config.RenewEvery]. It does not on a
// store that only this process has open, where nobody looks.
func (c *Core) Heartbeat(ctx context.Context) error {
	now := c.Config.Now()
	_, err := c.Store.Slot(ctx, posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: c.Config.Owner}, posthouse.SlotOp{
		Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Value: strconv.AppendInt(nil, now.UnixMilli(), 10),
	})
	if err == nil {
		c.heartbeat.took(now)
	}
	return err
}

// A heartbeat renews the liveness of a process while it has claims. Between two
// renewals it is a timer, not a goroutine. A run shorter than that writes nothing.
//
// A renewal begins on time even where the one before has no answer yet. So a store that
// stalls delays each renewal by its stall, never by the sum, and a lost one is followed
// by the next.
type heartbeat struct {
	mu      sync.Mutex
	renewed time.Time // when the newest renewal began that the store has taken, or the first claim
	claims  int
	timer   *time.Timer // nil: nothing was claimed yet
	closed  bool
}

func (p *heartbeat) claimed(c *Core) {
	if c.exclusive() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claims++; p.claims == 1 {
		p.renewed = c.Config.Now()
	}
	switch {
	case p.closed || p.claims > 1:
	case p.timer == nil:
		p.timer = time.AfterFunc(c.Config.RenewEvery(), func() { p.renew(c) })
	default:
		p.timer.Reset(c.Config.RenewEvery())
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

// took notes a renewal that began at a time.
func (p *heartbeat) took(begun time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if begun.After(p.renewed) {
		p.renewed = begun
	}
}

// isLate reports whether no renewal of the last two thirds of LeaseTTL has arrived: others
// may take this process's threads soon, or have them.
func (p *heartbeat) isLate(c *Core) bool {
	if c.exclusive() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claims > 0 && c.Config.Now().Sub(p.renewed) > c.Config.LeaseTTL*2/3
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
	p.mu.Lock()
	on := p.claims > 0 && !p.closed
	if on {
		p.timer.Reset(c.Config.RenewEvery())
	}
	p.mu.Unlock()
	if !on {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Config.LeaseTTL)
	defer cancel()
	if err := c.Heartbeat(ctx); err != nil && p.isOn() {
		c.Config.Logger.Warn("cannot renew this process's liveness: others may take its threads", "error", err)
	}
}

// exclusive reports whether only this process has the store open for writing.
func (c *Core) exclusive() bool {
	return c.runs() != nil
}

// runs returns the store's Runs if only this process has it open for writing, else nil.
func (c *Core) runs() *posthouse.Runs {
	if x, ok := c.Store.(posthouse.Excluder); ok && x.Exclusive() {
		return x.Runs()
	}
	return nil
}
