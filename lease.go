package posthouse

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"
)

// ProcessThread is the thread of slots that belong to processes, not threads.
const ProcessThread = "$process"

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
// run of this process has it, or another process whose lease is alive.
func (l *Ledger) Claim(ctx context.Context, thread, run string) (*Claim, error) {
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
	t.forget() // another process may have been here since
	if err := l.load(ctx, t); err != nil {
		return nil, err
	}
	if err := l.free(ctx, t.info); err != nil {
		return nil, err
	}
	t.claim = &Claim{Thread: thread, Run: run, generation: max(t.info.Generation, 1)}
	if t.info.Tail.Seq > 0 && !t.info.gone() {
		found := *t.info // the next append changes it
		t.claim.found = &found
	}
	t.tell()
	return t.claim, nil
}

func busy(thread string, lease *Lease) *Error {
	return &Error{
		Code: CodeBusy, Lease: lease,
		Message: "thread " + thread + " is being run by " + lease.Owner + " (run " + lease.Run + ")",
		Hint:    "wait for the run to park or end; a dead owner's threads are free after the lease's time",
	}
}

// free reports nil if the thread's lease stands in nobody's way.
func (l *Ledger) free(ctx context.Context, info *ThreadInfo) error {
	lease := info.Lease
	if !lease.Held || lease.Owner == l.opt.Owner {
		return nil
	}
	if x, ok := l.store.(Excluder); ok && x.Exclusive() {
		return nil // whoever held it is gone: only this process has the store
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

// checkLease lets the draft pass if its claim is the newest, or if it has none
// and nobody runs the thread; the first draft of a claim gets its record.
func (a *appending) checkLease(d *Draft) error {
	have := a.t.info.Lease
	switch {
	case d.Claim == nil && a.t.claim != nil:
		return busy(d.Thread, &Lease{Owner: a.l.opt.Owner, Run: a.t.claim.Run, Fence: a.t.claim.fence, Held: true})
	case d.Claim == nil:
		return a.l.free(a.ctx, a.t.info)
	case d.Claim.recorded && d.Claim.fence == have.Fence && have.Owner == a.l.opt.Owner:
		return nil
	case d.Claim.recorded || a.t.claim != d.Claim:
		newer := have
		return &Error{
			Code: CodeFenced, Lease: &newer, Tail: &a.t.info.Tail,
			Message: "the claim on thread " + d.Thread + " was overtaken by " + firstOf(have.Owner, "its release"),
			Hint:    "stop this run; the newer one goes on from what is recorded",
		}
	}
	if err := a.l.free(a.ctx, a.t.info); err != nil {
		return err
	}
	d.Claim.fence = have.Fence + 1
	a.claim = d.Claim
	a.add(Record{Kind: RecordClaim, Claim: &ClaimInfo{Owner: a.l.opt.Owner, Fence: d.Claim.fence, Run: d.Claim.Run}}, nil)
	return nil
}

// Secure puts a claim on record before the run's first commit does, so that of
// two processes that mean to run the thread only one begins to act. It reports
// whether it wrote: not when the claim is on record already, nor on a store
// that only this process has open. [ErrBusy] if somebody else was faster,
// [ErrFenced] if the claim was overtaken.
func (l *Ledger) Secure(ctx context.Context, c *Claim) (bool, error) {
	if x, ok := l.store.(Excluder); ok && x.Exclusive() {
		return false, nil
	}
	t, err := l.lock(c.Thread)
	if err != nil {
		return false, err
	}
	defer l.unlock(t)
	err = l.append(ctx, t, func(a *appending) error {
		if err := a.checkLease(&Draft{Thread: c.Thread, Claim: c}); err != nil {
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
func (l *Ledger) Unclaim(ctx context.Context, c *Claim) error {
	t, err := l.lock(c.Thread)
	if err != nil {
		return err
	}
	defer l.unlock(t)
	if t.claim != c {
		return nil
	}
	t.claim = nil
	l.lines.freed(c.Thread)
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

// Beat renews this process's liveness slot. While it is called more often than
// LeaseTTL, others leave this process's threads alone. A runner calls it each
// second.
func (l *Ledger) Beat(ctx context.Context) error {
	_, err := l.store.Slot(ctx, SlotKey{ProcessThread, l.opt.Owner}, SlotOp{
		Verb: SlotPut, Revision: AnyRevision, Value: strconv.AppendInt(nil, l.opt.Now().UnixMilli(), 10),
	})
	return err
}

// An ownerWatch remembers when it saw each owner's liveness slot change, by
// this process's monotonic clock: the clocks of others are never compared.
type ownerWatch struct {
	mu   sync.Mutex
	seen map[string]ownerSeen
}

const maxOwners = 10000

type ownerSeen struct {
	revision uint64
	at       time.Time
}

func (w *ownerWatch) gone(ctx context.Context, l *Ledger, owner string) (bool, error) {
	slot, err := l.store.Slot(ctx, SlotKey{ProcessThread, owner}, SlotOp{Verb: SlotGet})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	now := l.opt.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.seen[owner]
	if !ok || last.revision != slot.Revision {
		if len(w.seen) >= maxOwners || w.seen == nil {
			w.seen = map[string]ownerSeen{} // forgetting costs the others' threads another wait
		}
		w.seen[owner] = ownerSeen{slot.Revision, now}
		return false, nil
	}
	return now.Sub(last.at) >= l.opt.LeaseTTL, nil
}
