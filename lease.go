package posthouse

import (
	"context"
	"errors"
	"slices"
)

// A Claim is a run's hold on a thread. Until its first commit it is an
// intention; that commit carries the claim's record, and from then on its
// fence number is in the log, where a stale writer trips over a newer one.
type Claim struct {
	Thread string
	Run    string

	generation uint32

	found    *ThreadInfo // nil: there was none
	ends     claimEnds
	fence    uint64 // once recorded, or perhaps recorded
	recorded bool
}

// Found returns the thread's summary as of the claim, nil if there was no such
// thread.
func (c *Claim) Found() *ThreadInfo {
	if c.found == nil {
		return nil
	}
	t := *c.found
	t.Branches, t.Waiting = slices.Clone(t.Branches), slices.Clone(t.Waiting)
	return &t
}

// Generation returns the thread's generation as of the claim: 1, and one more
// for each release and deletion of the thread since. What the run does to the
// world is another generation's if the number is another.
func (c *Claim) Generation() uint32 { return c.generation }

// Claim takes the thread for a run of this process. It writes nothing yet. It
// fails with [ErrBusy], Error.Lease saying who holds the thread, while another
// run of this process has it, of this Ledger or another over the same handle of
// the store, or another process whose lease is alive. Until
// the claim is given back, or the Ledger closed, the process keeps its leases
// alive: whoever claims calls [Ledger.Unclaim] in the end.
func (l *Core) Claim(ctx context.Context, thread, run string) (*Claim, error) {
	if err := validateText("run", run); err != nil {
		return nil, err
	}
	t, err := l.lock(thread)
	if err != nil {
		return nil, err
	}
	defer l.unlock(t)
	if t.claim != nil {
		return nil, busy(thread, &Lease{Owner: l.opt.Owner, Run: t.claim.Run, Fence: t.claim.fence, Held: true})
	}
	if err := l.refresh(ctx, t); err != nil { // another process may have been here since
		return nil, err
	}
	if err := l.free(ctx, t.info); err != nil {
		return nil, err
	}
	if r := l.runs(); r != nil {
		if other := r.take(l, thread, run); other != nil {
			return nil, busy(thread, other)
		}
	}
	t.claim = &Claim{Thread: thread, Run: run, generation: max(t.info.Generation, 1)}
	if t.info.Tail.Seq > 0 && !t.info.gone() {
		found := *t.info // the next append changes it
		t.claim.found = &found
	}
	l.pulse.more(l)
	t.tell()
	return t.claim, nil
}

// unclaim takes the claim of this process off the thread, if there is one.
// Callers hold t.mu.
func (l *Core) unclaim(t *thread) {
	if t.claim == nil {
		return
	}
	t.claim = nil
	if r := l.runs(); r != nil {
		r.give(l, t.name)
	}
	l.lines.freed(t.name)
	l.pulse.less()
}

func busy(thread string, lease *Lease) *Error {
	return &Error{
		Code: CodeBusy, Lease: lease,
		Message: "thread " + thread + " is being run by " + lease.Owner + " (run " + lease.Run + ")",
		Hint:    "wait for the run to park or end; a dead owner's threads are free after the lease's time",
	}
}

// free reports nil if the thread's lease stands in nobody's way.
func (l *Core) free(ctx context.Context, info *ThreadInfo) error {
	lease := info.Lease
	if r := l.runs(); r != nil {
		// Only this process has the store: whoever holds it is gone, unless it
		// is another Ledger here, which may have nothing on record yet.
		if other := r.other(l, info.Thread); other != nil {
			other.Fence = lease.Fence
			return busy(info.Thread, other)
		}
		return nil
	}
	if !lease.Held || lease.Owner == l.opt.Owner {
		return nil
	}
	gone, err := l.owners.gone(ctx, l, lease.Owner)
	if err != nil {
		return err
	}
	if !gone {
		return busy(info.Thread, &lease)
	}
	return nil
}

// checkLease lets an entry pass whose claim is the newest, or that has none while
// nobody runs the thread. The first entry of a claim gets its record.
func (a *appending) checkLease(c *Claim) error {
	have := a.t.info.Lease
	switch {
	case c != nil && a.claim == c:
		return nil // by this entry
	case c == nil && a.t.claim != nil:
		return busy(a.t.name, &Lease{Owner: a.l.opt.Owner, Run: a.t.claim.Run, Fence: a.t.claim.fence, Held: true})
	case c == nil:
		return a.l.free(a.ctx, a.t.info)
	case c.recorded && c.fence == have.Fence && have.Owner == a.l.opt.Owner:
		return nil
	case c.recorded || a.t.claim != c:
		newer := have
		return &Error{
			Code: CodeFenced, Lease: &newer, Tail: &a.t.info.Tail,
			Message: "the claim on thread " + a.t.name + " was overtaken by " + firstOf(have.Owner, "its release"),
			Hint:    "stop this run; the newer one goes on from what is recorded",
		}
	}
	if err := a.l.free(a.ctx, a.t.info); err != nil {
		return err
	}
	c.fence = have.Fence + 1
	a.claim = c
	a.add(Record{Kind: RecordClaim, Claim: &ClaimInfo{Owner: a.l.opt.Owner, Fence: c.fence, Run: c.Run}}, nil)
	return nil
}

// Secure puts a claim on record before the run's first commit does, so that of
// two processes that mean to run the thread only one begins to act. It reports
// whether it wrote: not when the claim is on record already, nor on a store
// that only this process has open. [ErrBusy] if somebody else was faster,
// [ErrFenced] if the claim was overtaken.
func (l *Core) Secure(ctx context.Context, c *Claim) (bool, error) {
	if l.exclusive() {
		return false, nil
	}
	t, err := l.lock(c.Thread)
	if err != nil {
		return false, err
	}
	defer l.unlock(t)
	err = l.append(ctx, t, func(a *appending) error {
		if err := a.checkLease(c); err != nil {
			return err
		}
		if a.claim == nil {
			return errNothing
		}
		return nil
	})
	if errors.Is(err, errNothing) {
		return false, nil
	}
	return err == nil, err
}

// Unclaim gives the thread back. If the run parked or ended, its last
// checkpoint has done so already and nothing is written; otherwise a record
// frees the thread for others at once. Giving it back twice is no error.
func (l *Core) Unclaim(ctx context.Context, c *Claim) error {
	t, err := l.lock(c.Thread)
	if err != nil {
		return err
	}
	defer l.unlock(t)
	if t.claim != c {
		return nil
	}
	l.unclaim(t)
	if c.fence == 0 {
		return nil // never tried to get on record
	}
	err = l.append(ctx, t, func(a *appending) error {
		have := t.info.Lease
		if !have.Held || have.Fence != c.fence || have.Owner != l.opt.Owner || have.Run != c.Run {
			return errNothing
		}
		a.add(Record{Kind: RecordClaim, Claim: &ClaimInfo{Owner: have.Owner, Fence: have.Fence, Run: have.Run, Unclaim: true}}, nil)
		return nil
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// errNothing ends an append that turned out to have nothing to write, and has
// changed nothing that is known of the thread.
var errNothing = errors.New("nothing to append")
