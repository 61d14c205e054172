package ledger

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A Claim is a run's hold on a thread, see [Ledger.Claim]. The run's first commit records it.
// From then on its fence number is in the log, and a writer with an older one fails.
type Claim struct {
	Thread string
	Run    string
	core   *core.Claim
}

// Claim takes the thread for a run of this process. It writes nothing yet. Call
// [Claim.Release] in the end: until then, or until the Ledger is closed, the process
// keeps its leases alive.
//
// It fails with [posthouse.ErrBusy], and Error.Lease, while another run has the thread:
// in this process, through any Ledger over the same handle of the store, or in another
// process with a living lease.
func (l *Ledger) Claim(ctx context.Context, thread, run string) (*Claim, error) {
	return claimOf(l.core.Claim(ctx, thread, run))
}

func claimOf(c *core.Claim, err error) (*Claim, error) {
	if err != nil {
		return nil, err
	}
	return &Claim{c.Thread, c.Run, c}, nil
}

// held returns the claim as the core knows it, nil for nil.
func (c *Claim) held() *core.Claim {
	if c == nil {
		return nil
	}
	return c.core
}

// Found returns the thread's summary at the claim, or nil if there was no such thread.
func (c *Claim) Found() *posthouse.ThreadInfo { return c.core.Found() }

// Generation returns the thread's generation at the claim: 1, plus one for each release
// and deletion of the thread before.
func (c *Claim) Generation() uint32 { return c.core.Generation() }

// Birth returns what [posthouse.ThreadInfo.Birth] does of a branch that begins under the claim.
func (c *Claim) Birth() uint64 { return c.core.Birth() }

// Fence returns the claim's fence number, once it is recorded, or perhaps is. Before that it is 0.
func (c *Claim) Fence() uint64 { return c.core.Fence }

// Recorded reports whether the claim is on record.
func (c *Claim) Recorded() bool { return c.core.Recorded }

// Cancelled returns a channel that is closed when somebody asks to cancel the branch. A
// request in this process, or one from before the claim, closes it at once, others at
// the next commit.
func (c *Claim) Cancelled(branch string) <-chan struct{} { return c.core.Cancelled(branch) }

// OnCancel has tell called once, when somebody asks to cancel the branch, as early as Cancelled
// says. tell must not wait, nor use the Ledger. unhook takes the hook back; tell may be running
// then.
func (c *Claim) OnCancel(branch string, tell func()) (unhook func()) {
	return c.core.OnCancel(branch, tell)
}

// IsCancelled reports whether somebody asked to cancel the branch.
func (c *Claim) IsCancelled(branch string) bool { return c.core.IsCancelled(branch) }

// Sure reports whether the claim holds for sure at a time that was just read with [Ledger.Now]:
// this process was not away, frozen or cut off from the store, for longer than its lease since the
// claim was made or confirmed. It asks the store nothing.
func (c *Claim) Sure(at time.Time) bool { return c.core.Sure(at) }

// Held returns a context that ends when the claim may have lapsed, nil on a store that
// only this process has open, where it cannot.
func (c *Claim) Held() context.Context { return c.core.Held() }

// Confirm makes sure of a claim, before something acts, if this process may have lost it:
// it was frozen, or cut off from the store. A claim on record is recorded again, under the
// next fence number, by a write that begins after the process was back; for another one the
// thread is read. If the claim is sure it asks nobody. [posthouse.ErrFenced] if another
// process has, or had, the thread.
func (c *Claim) Confirm(ctx context.Context) error { return c.core.Confirm(ctx) }

// Persist records the claim before the run's first commit, so that only one of two
// processes begins to act. It reports whether it wrote: not if the claim is on record,
// nor on a store that only this process has open. [posthouse.ErrBusy] if somebody else
// was faster, [posthouse.ErrFenced] if a newer claim is on record.
func (c *Claim) Persist(ctx context.Context) (bool, error) { return c.core.Persist(ctx) }

// Release gives the thread back. A run that parked or ended has recorded that in its
// last checkpoint, and nothing is written; otherwise a record frees the thread for
// others at once. A second Release does nothing.
func (c *Claim) Release(ctx context.Context) error { return c.core.Release(ctx) }

// A Ticket is a place in this process's queue for a thread: first come, first served.
// Each ticket needs a [Ticket.Claim] or a [Ticket.Leave]; otherwise those after it
// wait forever.
type Ticket struct{ core *core.Ticket }

// NewTicket takes the last place in a thread's queue, or with first the foremost.
// [Ledger.Claim] ignores the queue.
func (l *Ledger) NewTicket(thread string, first bool) *Ticket {
	return &Ticket{l.core.NewTicket(thread, first)}
}

// Claim waits for its turn and for the thread to be free, claims it as [Ledger.Claim] does,
// and leaves the queue. When its turn has come and another run has the thread, it calls busy
// with that run's error; an error of busy ends the wait. It looks for a holder in another
// process as often as leases are renewed. It fails as [Ledger.Claim] does, except with
// [posthouse.ErrBusy], or as the context does.
func (t *Ticket) Claim(ctx context.Context, run string, busy func(*posthouse.Error) error) (*Claim, error) {
	return claimOf(t.core.Claim(ctx, run, busy))
}

// Leave gives up the place. A second Leave does nothing.
func (t *Ticket) Leave() { t.core.Leave() }
