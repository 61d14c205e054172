package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
)

// A Claim is a run's hold on a thread. The run's first commit records it. From then on
// its fence number is in the log, and a writer with an older one fails.
type Claim struct {
	Thread string
	Run    string

	core       *Core
	generation uint32
	ended      uint64

	found    *posthouse.ThreadInfo // nil: there was no thread
	requests cancelRequests
	Fence    uint64 // once recorded, or perhaps recorded
	Recorded bool

	was  uint64        // the newest fence at the claim
	sure atomic.Uint64 // how often the leases may have lapsed before this claim was sure
	seen uint64        // the same, as its record was made

	over bool        // its record takes the thread from another owner, who did not give it back
	lost atomic.Bool // another owner overtook it
}

// leaseCounts count what became of the leases of a process, from its start.
type leaseCounts struct{ taken, lost atomic.Uint64 }

// A Leases says what became of the leases of a process.
type Leases struct {
	Held  int    // threads that runs of this process have
	Taken uint64 // leases that were taken from an owner who did not give them back
	Lost  uint64 // leases that another owner took, as far as this process has noticed
}

// Leases returns what became of the leases of this process.
func (c *Core) Leases() Leases {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Leases{c.held.Len(), c.leases.taken.Load(), c.leases.lost.Load()}
}

// Found returns the thread's summary at the claim, or nil if there was no such thread.
func (c *Claim) Found() *posthouse.ThreadInfo {
	if c.found == nil {
		return nil
	}
	t := *c.found
	t.Branches, t.Waiting = slices.Clone(t.Branches), slices.Clone(t.Waiting)
	return &t
}

// Generation returns the thread's generation at the claim: 1, plus one for each release
// and deletion of the thread before.
func (c *Claim) Generation() uint32 { return c.generation }

// Birth returns what [posthouse.ThreadInfo.Birth] does of a branch that begins under the claim.
func (c *Claim) Birth() uint64 { return c.ended }

// IsOf reports whether the claim is a run's on a thread, by this Core.
func (c *Claim) IsOf(by *Core, thread, run string) bool {
	return c.core == by && c.Thread == thread && c.Run == run
}

// Claim takes the thread for a run of this process. It writes nothing yet.
func (c *Core) Claim(ctx context.Context, thread, run string) (*Claim, error) {
	if err := posthouse.ValidateText("run", run); err != nil {
		return nil, err
	}
	t, err := c.Lock(thread)
	if err != nil {
		return nil, err
	}
	defer c.Unlock(t)
	if t.Claim != nil {
		return nil, BusyError(thread, &posthouse.Lease{Owner: c.Config.Owner, Run: t.Claim.Run, Fence: t.Claim.Fence, Held: true})
	}
	if err := c.refresh(ctx, t); err != nil { // another process may have been here since
		return nil, err
	}
	if err := c.leaseFree(ctx, t.Info); err != nil {
		return nil, err
	}
	if r := c.runs(); r != nil {
		if other := r.Take(c, thread, posthouse.Lease{Owner: c.Config.Owner, Run: run, Held: true}); other != nil {
			return nil, BusyError(thread, other)
		}
	}
	t.Claim = &Claim{core: c, Thread: thread, Run: run, generation: max(t.Info.Generation, 1), ended: t.Info.Ended, was: t.Info.Lease.Fence}
	if t.Info.Tail.Seq > 0 && !t.Info.Gone() {
		found := *t.Info // the next append changes it
		t.Claim.found = &found
	}
	t.Claim.sure.Store(c.heartbeat.claimed(c))
	t.notifyCancelled()
	return t.Claim, nil
}

// FreeClaim ends this process's claim on the thread, if there is one. Callers hold
// t.mu.
func (c *Core) FreeClaim(t *Thread) {
	if t.Claim == nil {
		return
	}
	t.Claim = nil
	if r := c.runs(); r != nil {
		r.Give(c, t.Name)
	}
	c.lines.wakeFirst(t.Name)
	c.heartbeat.released()
}

// BusyError returns the error of a thread that another run has.
func BusyError(thread string, lease *posthouse.Lease) *posthouse.Error {
	return &posthouse.Error{
		Code: posthouse.CodeBusy, Lease: lease,
		Message: "thread " + thread + " is being run by " + lease.Owner + " (run " + lease.Run + ")",
		Hint:    "wait for the run to park or end; a dead owner's threads are free after the lease's time",
	}
}

// leaseFree returns nil if no live owner holds the thread's lease.
func (c *Core) leaseFree(ctx context.Context, info *posthouse.ThreadInfo) error {
	if r := c.runs(); r != nil {
		// Only this process has the store open. The owner is gone, unless it is another
		// Ledger here, which may have nothing on record yet.
		if other := r.Other(c, info.Thread); other != nil {
			other.Fence = info.Lease.Fence
			return BusyError(info.Thread, other)
		}
		return nil
	}
	if !info.Lease.Held || info.Lease.Owner == c.Config.Owner {
		return nil
	}
	lease := info.Lease
	gone, err := c.Owners.leaseExpired(ctx, info.Thread, &lease, 0)
	if err != nil {
		return err
	}
	if !gone {
		return c.busyElsewhere(info.Thread, &lease)
	}
	return nil
}

// busyElsewhere returns the error of a thread that another process has, or had before it was
// lost. Only a process that looks again and again sees that it is silent.
func (c *Core) busyElsewhere(thread string, lease *posthouse.Lease) *posthouse.Error {
	e := BusyError(thread, lease)
	e.Wait = c.Config.TakeoverTime()
	e.Hint = "wait for the run to park or end. If its process is gone, the thread is free for one that looks for " + e.Wait.String() +
		": resume with RunOptions.Wait of that or more, or by posthouse resume --wait " + e.Wait.String()
	return e
}

// fenced returns the error of a claim if a newer one is on record.
func (c *Claim) fenced(have posthouse.Lease, tail posthouse.Position) error {
	if have.Owner != c.core.Config.Owner && c.lost.CompareAndSwap(false, true) {
		c.core.leases.lost.Add(1)
	}
	return &posthouse.Error{
		Code: posthouse.CodeFenced, Lease: &have, Tail: &tail,
		Message: "the claim on thread " + c.Thread + " was overtaken by " + cmp.Or(have.Owner, "its release"),
		Hint:    "stop this run; the newer one goes on from what is recorded",
	}
}

// Sure reports whether the claim holds for sure at a time that was just read: this process was not
// away, frozen or cut off from the store, for longer than its lease since the claim was made or
// confirmed. It asks the store nothing.
func (c *Claim) Sure(at time.Time) bool {
	n, late := c.core.heartbeat.lapsed(c.core, at)
	return !late && n == c.sure.Load()
}

// Held returns a context that ends when the claim may have lapsed, nil on a store that
// only this process has open, where it cannot.
func (c *Claim) Held() context.Context {
	if c.core.exclusive() {
		return nil
	}
	return c.core.heartbeat.holding(c.core)
}

// maxConfirms bounds how often a claim is confirmed while the leases lapse again, since
// each time writes to the thread: the store is slower than the lease.
const maxConfirms = 10

// Confirm makes sure of a claim, before something acts, if this process may have lost it:
// it was frozen, or cut off from the store. A claim on record is recorded again, under the
// next fence number, by a write that begins after the process was back; for another one the
// thread is read. If the claim is sure it makes no request. It fails with
// [posthouse.ErrFenced] if another process has, or had, the thread.
//
// A read would not do for a claim on record: who takes the thread may have looked at this
// process's liveness before it was renewed, and write after the read.
func (c *Claim) Confirm(ctx context.Context) error {
	for try := 0; !c.Sure(c.core.Config.Now()); try++ {
		if try == maxConfirms {
			return errLapsed(c.core)
		}
		n, err := c.core.renewLapsed(ctx)
		if err != nil {
			if info, e := c.core.Logs.Summary(ctx, c.Thread); e == nil && c.Recorded && (info.Lease.Fence != c.Fence || info.Lease.Owner != c.core.Config.Owner) {
				return c.fenced(info.Lease, info.Tail)
			}
			return err
		}
		if err := c.confirm(ctx); err != nil {
			return err
		}
		c.sure.Store(n)
	}
	return nil
}

func (c *Claim) confirm(ctx context.Context) error {
	l := c.core
	t, err := l.Lock(c.Thread)
	if err != nil {
		return err
	}
	defer l.Unlock(t)
	if !c.Recorded {
		return c.confirmUnmoved(ctx, t)
	}
	next := uint64(0)
	err = l.Append(ctx, t, func(tx *Tx) error {
		have := tx.Thread.Info.Lease
		if tx.Thread.Claim != c || have.Owner != l.Config.Owner || !have.Held || have.Fence != c.Fence {
			return c.fenced(have, tx.Thread.Info.Tail)
		}
		next = have.Fence + 1
		tx.Add(posthouse.Record{Kind: posthouse.RecordClaim, Claim: &posthouse.ClaimInfo{Owner: have.Owner, Fence: next, Run: c.Run}}, nil)
		return nil
	})
	if err == nil {
		c.Fence = next
	}
	return err
}

// confirmUnmoved returns nil if the thread was not claimed since the claim, which has
// nothing on record. Callers hold t.mu.
func (c *Claim) confirmUnmoved(ctx context.Context, t *Thread) error {
	if err := c.core.refresh(ctx, t); err != nil {
		return err
	}
	if have := t.Info.Lease; t.Claim != c || have.Fence > max(c.was, c.Fence) {
		return c.fenced(have, t.Info.Tail)
	}
	return nil
}

// CheckLease checks that an entry has the newest claim, or no claim while no run has
// the thread. The first entry of a claim gets its record.
func (tx *Tx) CheckLease(c *Claim) error {
	have := tx.Thread.Info.Lease
	switch {
	case c != nil && tx.Claim == c:
		return nil // by this entry
	case c == nil && tx.Thread.Claim != nil:
		return BusyError(tx.Thread.Name, &posthouse.Lease{Owner: tx.Core.Config.Owner, Run: tx.Thread.Claim.Run, Fence: tx.Thread.Claim.Fence, Held: true})
	case c == nil:
		return tx.Core.leaseFree(tx.Ctx, tx.Thread.Info)
	case c.Recorded && c.Fence == have.Fence && have.Owner == tx.Core.Config.Owner:
		return nil
	case c.Recorded || tx.Thread.Claim != c:
		return c.fenced(have, tx.Thread.Info.Tail)
	}
	if err := tx.Core.leaseFree(tx.Ctx, tx.Thread.Info); err != nil {
		return err
	}
	c.Fence = have.Fence + 1
	c.seen, _ = tx.Core.heartbeat.lapsed(tx.Core, tx.Core.Config.Now())
	c.over = have.Held && have.Owner != tx.Core.Config.Owner
	tx.Claim = c
	tx.Add(posthouse.Record{Kind: posthouse.RecordClaim, Claim: &posthouse.ClaimInfo{Owner: tx.Core.Config.Owner, Fence: c.Fence, Run: c.Run}}, nil)
	return nil
}

// Persist records the claim before the run's first commit, so that only one of two
// processes begins to act. It reports whether it wrote: not if the claim is on record,
// nor on a store that only this process has open. [posthouse.ErrBusy] if somebody else
// was faster, [posthouse.ErrFenced] if a newer claim is on record.
func (c *Claim) Persist(ctx context.Context) (bool, error) {
	l := c.core
	if l.exclusive() {
		return false, nil
	}
	wrote := false
	err := l.LockAndAppend(ctx, c.Thread, func(tx *Tx) error {
		err := tx.CheckLease(c)
		wrote = tx.Claim != nil
		if err == nil && !wrote {
			err = ErrNothing
		}
		return err
	})
	return wrote && err == nil, err
}

// Release gives the thread back. A run that parked or ended has recorded that in its
// last checkpoint, and nothing is written; otherwise a record frees the thread for
// others at once. A second Release does nothing.
func (c *Claim) Release(ctx context.Context) error {
	l := c.core
	t, err := l.Lock(c.Thread)
	if err != nil {
		return err
	}
	defer l.Unlock(t)
	if t.Claim != c {
		return nil
	}
	l.FreeClaim(t)
	if c.Fence == 0 {
		return nil // never tried to get on record
	}
	return l.Append(ctx, t, func(tx *Tx) error {
		have := t.Info.Lease
		if !have.Held || have.Fence < c.Fence || have.Owner != l.Config.Owner || have.Run != c.Run {
			return ErrNothing
		}
		tx.Add(posthouse.Record{Kind: posthouse.RecordClaim, Claim: &posthouse.ClaimInfo{Owner: have.Owner, Fence: have.Fence, Run: have.Run, Unclaim: true}}, nil)
		return nil
	})
}

// ErrNothing ends an append that has nothing to write, and has changed nothing that is
// known of the thread.
var ErrNothing = errors.New("nothing to append")
