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
// store that only this process has open, since no other process looks.
func (c *Core) Heartbeat(ctx context.Context) error {
	now := c.Config.Now()
	_, err := c.Store.Slot(ctx, posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: c.Config.Owner}, posthouse.SlotOp{
		Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Value: strconv.AppendInt(nil, now.UnixMilli(), 10),
	})
	if err == nil {
		c.heartbeat.took(c, now)
	}
	return err
}

// A heartbeat renews the liveness of a process while it has claims. Between two
// renewals it is a timer, not a goroutine. A run shorter than that writes nothing.
//
// A renewal begins on time even where the one before has no answer yet. So a store that
// stalls delays each renewal by its stall, never by the sum, and a lost one is followed
// by the next.
//
// It also knows when the leases may have lapsed: when more than nine tenths of LeaseTTL
// lie between the beginning of a renewal and the answer to the next, or now. A renewal
// that is answered late does not undo that: another process may have taken the threads
// before the store took it. So each lapse is counted, and a claim is confirmed after it.
type heartbeat struct {
	renewing sync.Mutex // held while a claim that is confirmed renews; before mu

	mu      sync.Mutex
	renewed time.Time // when the newest renewal began that the store has taken, or the first claim
	claims  int
	timer   *time.Timer // nil: nothing was claimed yet
	closed  bool
	lapses  uint64 // how often the leases may have lapsed

	expiry *time.Timer     // of the leases; nil until held is asked for
	held   context.Context // ends when the leases may have lapsed; nil: not asked for since the last lapse
	lapse  context.CancelCauseFunc
}

// claimed counts a claim, and returns how often the leases may have lapsed before it.
func (p *heartbeat) claimed(c *Core) uint64 {
	if c.exclusive() {
		return 0
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
	return p.lapses
}

func (p *heartbeat) released() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		return // leases do not count on this store
	}
	if p.claims--; p.claims == 0 {
		p.timer.Stop()
		if p.expiry != nil {
			p.expiry.Stop()
		}
		p.held = nil
	}
}

// took notes a renewal that began at a time, and was answered now.
func (p *heartbeat) took(c *Core, begun time.Time) {
	now := c.Config.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claims > 0 && p.isLapsed(c, now) {
		p.lapses++
		p.endHeld(c)
	}
	if begun.After(p.renewed) || now.Before(p.renewed) {
		p.renewed = begun
	}
	if p.expiry != nil && p.held != nil {
		p.expiry.Reset(leaseFor(c) - elapsed(p.renewed, now))
	}
}

// leaseFor returns how long after the beginning of a renewal the leases hold for sure.
func leaseFor(c *Core) time.Duration { return c.Config.LeaseTTL - c.Config.LeaseTTL/10 }

// isLapsed reports whether the leases may have lapsed. Callers hold p.mu.
func (p *heartbeat) isLapsed(c *Core, now time.Time) bool {
	e := elapsed(p.renewed, now)
	return e < 0 || e > leaseFor(c)
}

// elapsed returns the time between two readings of a clock: by the time of day if that is
// more, since a monotonic clock stands still while a machine is suspended. A clock without
// a monotonic reading that was set back gives a negative time.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// endHeld ends what runs while the leases hold. Callers hold p.mu.
func (p *heartbeat) endHeld(c *Core) {
	if p.held != nil {
		p.lapse(errLapsed(c))
		p.held = nil
	}
}

// errLapsed is the cause of the end of contexts when the leases may have lapsed.
func errLapsed(c *Core) error {
	return &posthouse.Error{
		Code:    posthouse.CodeUnavailable,
		Message: "the lease of this process may have lapsed: the store did not answer, or the process did not run, for " + leaseFor(c).String(),
		Hint:    "resume the thread; a runner does so by itself",
	}
}

// holding returns a context that ends when the leases may have lapsed, with the reason
// as its cause.
func (p *heartbeat) holding(c *Core) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held != nil {
		return p.held
	}
	now := c.Config.Now()
	held, lapse := context.WithCancelCause(context.Background())
	if p.isLapsed(c, now) || p.closed {
		lapse(errLapsed(c))
		return held
	}
	p.held, p.lapse = held, lapse
	left := leaseFor(c) - elapsed(p.renewed, now)
	if p.expiry == nil {
		p.expiry = time.AfterFunc(left, func() { p.expire(c) })
	} else {
		p.expiry.Reset(left)
	}
	return held
}

// expire ends what runs while the leases hold, unless they were renewed.
func (p *heartbeat) expire(c *Core) {
	now := c.Config.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.claims == 0 || p.held == nil:
		p.held = nil
	case p.isLapsed(c, now):
		p.endHeld(c)
	default:
		p.expiry.Reset(max(leaseFor(c)-elapsed(p.renewed, now), time.Millisecond))
	}
}

// lapsed returns how often the leases may have lapsed, and whether they may have at a time that was just
// read.
func (p *heartbeat) lapsed(c *Core, at time.Time) (count uint64, now bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lapses, p.claims > 0 && p.isLapsed(c, at)
}

// renewLapsed renews the leases if they may have lapsed, and returns how often they have.
// From here on no other process takes a thread, unless its append is on its way: an append
// to the thread then comes before it, or fails.
func (c *Core) renewLapsed(ctx context.Context) (uint64, error) {
	p := &c.heartbeat
	p.renewing.Lock()
	defer p.renewing.Unlock()
	n, late := p.lapsed(c, c.Config.Now())
	if !late {
		return n, nil
	}
	if err := c.Heartbeat(ctx); err != nil {
		return n, err
	}
	n, _ = p.lapsed(c, c.Config.Now())
	return n, nil
}

// stop ends the heartbeat, even with claims.
func (p *heartbeat) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.expiry != nil {
		p.expiry.Stop()
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
func (c *Core) runs() *posthouse.Running {
	if x, ok := c.Store.(posthouse.Excluder); ok && x.Exclusive() {
		return x.Runs()
	}
	return nil
}
