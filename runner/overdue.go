package runner

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
)

// recordOverdue records what is due on a thread: passed deadlines, escalations, reminders, and requests to
// cancel that no run follows. It reports whether the thread's summary changed, and after which
// pause to look again, 0 if there is no need.
func (r *Runner) recordOverdue(ctx context.Context, t *posthouse.ThreadInfo) (changed bool, retry time.Duration) {
	now := r.ledger.Now()
	var err error
	for _, w := range t.Waiting {
		what := "expired"
		switch {
		case isPast(w.ExpiresAt, now):
			_, err = commit.Expire(ctx, r.ledger.Core(), w.ID)
		case isPast(w.EscalateAt, now):
			what = "escalated"
			_, err = commit.Escalate(ctx, r.ledger.Core(), w.ID)
		case isPast(w.RemindAt, now):
			what = "reminds people"
			_, err = commit.Remind(ctx, r.ledger.Core(), w.ID)
			if errors.Is(err, posthouse.ErrConflict) {
				err = nil // another server was first
			}
		default:
			continue
		}
		switch {
		case err == nil, errors.Is(err, posthouse.ErrDecided), errors.Is(err, posthouse.ErrExpired), errors.Is(err, posthouse.ErrNotFound):
			changed = true
		default:
			r.log(ctx, "cannot record that gate "+string(w.ID)+" "+what+"; trying again", t.Thread, w.Branch, err)
			retry = maxPause
		}
	}
	for _, m := range t.Cancelling {
		h, err := r.ledger.Cancel(ctx, t.Thread, &ledger.CancelOptions{Branch: m.Branch})
		switch {
		case err == nil && h.Status != posthouse.StatusCancelled:
			retry = max(retry, 2*r.opt.Poll) // the run that has the thread will, or is gone by then
		case err == nil, errors.Is(err, posthouse.ErrNotFound):
			changed = true
		default:
			r.log(ctx, "cannot cancel a branch; trying again", t.Thread, m.Branch, err)
			retry = maxPause
		}
	}
	return changed, retry
}

func isPast(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }
