package runner

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// askLost has people asked about effects of a thread that its run left with an unknown outcome, before
// anything of the thread goes on here. again says that a program looks after some of them, and should
// have people asked if it is late.
func (r *Runner) askLost(ctx context.Context, t *posthouse.ThreadInfo, foreign bool) (again bool) {
	if len(t.Begun) == 0 {
		return false
	}
	_, again, err := commit.AskLost(ctx, r.ledger.Core(), t.Thread, commit.Taking{Foreign: foreign})
	switch {
	case err == nil, errors.Is(err, posthouse.ErrBusy), errors.Is(err, posthouse.ErrNotFound): // who has it asks
		return again
	}
	r.log(ctx, "cannot ask about an effect with an unknown outcome; trying again", t.Thread, "", err)
	return true
}

// askFound is askLost for a thread that a sweep found: once for each end of its log.
func (r *Runner) askFound(ctx context.Context, t *posthouse.ThreadInfo, looked map[string]uint64) {
	if len(t.Begun) == 0 {
		return
	}
	if r.looked[t.Thread] != t.Tail.Seq && r.askLost(ctx, t, false) {
		return
	}
	looked[t.Thread] = t.Tail.Seq
}

// askLeft is askLost for all threads that a process had when it was lost, whether they can run or wait.
// It returns the other processes that have threads with effects that are not over.
func (r *Runner) askLeft(ctx context.Context) (others map[string]bool) {
	others = map[string]bool{}
	for t, err := range r.ledger.Threads(ctx, posthouse.ThreadQuery{Leased: true}) {
		if err != nil {
			r.missed(ctx, err)
			return others
		}
		if len(t.Begun) == 0 {
			continue
		}
		held, err := r.ledger.Core().Owners.HeldElsewhere(ctx, t)
		switch {
		case err != nil:
			r.missed(ctx, err)
			return others
		case held:
			others[t.Lease.Owner] = true
		default:
			r.askLost(ctx, t, false)
		}
	}
	return others
}
