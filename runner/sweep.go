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
	for t, err := range r.ledger.Threads(ctx, posthouse.ThreadQuery{Runnable: true}) {
		if err != nil {
			r.missed(ctx, err)
			return next
		}
		r.queue.found(t.Thread, t.Tail.Seq)
	}
	r.queue.swept()
	return next
}

func (r *Runner) missed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		r.opt.Logger.Error("cannot look for work; trying again", "error", err, "in", r.opt.Poll)
	}
}
