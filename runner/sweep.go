package runner

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// sweep looks for everything that hints may have missed and returns when to
// look again.
func (r *Runner) sweep(ctx context.Context) time.Duration {
	next := r.opt.Poll
	now := r.ledger.Now()
	clear(r.others)
	if !now.Before(r.leftAt) {
		r.left, r.leftAt = r.askLeft(ctx), now.Add(lookEvery)
	}
	horizon := posthouse.Millis(now.Add(next).UnixMilli())
	for t, err := range r.ledger.Threads(ctx, posthouse.ThreadQuery{DueBefore: horizon}) {
		if err != nil {
			r.missed(ctx, err)
			break
		}
		if due := time.UnixMilli(int64(t.Due)); due.After(now) {
			next = min(next, due.Sub(now))
			continue
		}
		r.queue.push(t.Thread)
	}
	looked := map[string]uint64{}
	defer func() { r.looked = looked }()
	for t, err := range r.ledger.Threads(ctx, posthouse.ThreadQuery{Runnable: true}) {
		if err != nil {
			r.missed(ctx, err)
			return next
		}
		held, err := r.ledger.Core().Owners.HeldElsewhere(ctx, t)
		if err != nil {
			r.missed(ctx, err)
			return next
		}
		if held {
			r.others[t.Lease.Owner] = true
			continue
		}
		r.askFound(ctx, t, looked)
		r.queue.found(t.Thread, t.Tail.Seq, t.Lease.Held && t.Lease.Owner != r.ledger.Core().Config.Owner)
	}
	r.queue.swept()
	return next
}

// rest waits until the next sweep: for d, until a new deadline may come before, or until
// another process is gone that has threads of ours to give.
func (r *Runner) rest(ctx context.Context, d time.Duration) {
	sweep := time.NewTimer(d)
	defer sweep.Stop()
	for {
		look := (<-chan time.Time)(nil)
		if len(r.others)+len(r.left) > 0 {
			look = time.After(r.ledger.Core().Config.RenewEvery())
		}
		select {
		case <-sweep.C:
			return
		case <-r.wake:
			return
		case <-ctx.Done():
			return
		case <-look:
			if r.isOneGone(ctx) {
				return
			}
		}
	}
}

// isOneGone reports whether one of the processes is silent that the last sweep found to
// have threads. One read of the store a process, however many threads it has.
func (r *Runner) isOneGone(ctx context.Context) bool {
	for _, owners := range []map[string]bool{r.others, r.left} {
		for owner := range owners {
			switch silent, err := r.ledger.Core().Owners.IsExpired(ctx, owner); {
			case err != nil:
				r.missed(ctx, err)
				return false
			case silent:
				r.leftAt = time.Time{}
				return true
			}
		}
	}
	return false
}

func (r *Runner) missed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		r.opt.Logger.Error("cannot look for work; trying again", "error", err, "in", r.opt.Poll)
	}
}
