package runner

import (
	"context"
	"errors"
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
		r.expire(ctx, t, now)
		r.escalate(ctx, t, now)
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

// escalate puts on record whose turn it is from now on.
func (r *Runner) escalate(ctx context.Context, t *posthouse.ThreadInfo, now time.Time) {
	for _, w := range t.Waiting {
		if w.EscalateAt.IsZero() || w.EscalateAt.After(now) || !w.ExpiresAt.IsZero() && !w.ExpiresAt.After(now) {
			continue
		}
		if _, err := r.ledger.Escalate(ctx, w.ID); err != nil && ctx.Err() == nil &&
			!errors.Is(err, posthouse.ErrDecided) && !errors.Is(err, posthouse.ErrExpired) && !errors.Is(err, posthouse.ErrNotFound) {
			r.opt.Logger.Error("cannot record that a gate escalated; trying again", "thread", t.Thread, "gate", w.ID, "error", err)
		}
	}
}

// expire puts the passed deadlines of a thread on record.
func (r *Runner) expire(ctx context.Context, t *posthouse.ThreadInfo, now time.Time) {
	for _, w := range t.Waiting {
		if w.ExpiresAt.IsZero() || w.ExpiresAt.After(now) {
			continue
		}
		_, err := r.ledger.Expire(ctx, w.ID)
		switch {
		case err == nil, errors.Is(err, posthouse.ErrDecided), errors.Is(err, posthouse.ErrExpired):
			r.Kick(t.Thread)
		case ctx.Err() == nil:
			r.opt.Logger.Error("cannot record that a gate expired; trying again", "thread", t.Thread, "gate", w.ID, "error", err)
		}
	}
}
