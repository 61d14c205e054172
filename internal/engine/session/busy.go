package session

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// A contention is what a session met on the way to its claim.
type contention struct {
	asked bool         // to cancel another run
	was   posthouse.ID // the branch's head before, "" if it had no head
}

// claimThread claims the thread, through the queue unless the caller would not wait.
func (o *Options) claimThread(ctx context.Context, l *ledger.Ledger) (*ledger.Claim, error) {
	if o.Place == nil && o.OnBusy == runs.Reject && o.Wait == 0 {
		c, err := l.Claim(ctx, o.Thread, o.Run)
		if err == nil || !o.isSameRun(l, err) {
			return c, err
		}
	}
	p := o.Place
	if p == nil {
		p = l.NewTicket(o.Thread, o.OnBusy != runs.Enqueue)
	}
	if o.Wait == 0 {
		return p.Claim(ctx, o.Run, func(e *posthouse.Error) error { return o.onBusy(ctx, l, e) })
	}
	return o.claimWithin(ctx, l, p)
}

// errWaited ends a wait that took as long as it may.
var errWaited = errors.New("waited for the thread")

// claimWithin claims the thread within Wait, or returns the error of who has it.
func (o *Options) claimWithin(ctx context.Context, l *ledger.Ledger, p *ledger.Ticket) (*ledger.Claim, error) {
	within, cancel := context.WithTimeoutCause(ctx, o.Wait, errWaited)
	defer cancel()
	var last *posthouse.Error
	c, err := p.Claim(within, o.Run, func(e *posthouse.Error) error {
		last = e
		if o.OnBusy == runs.Reject {
			return nil
		}
		return o.onBusy(ctx, l, e)
	})
	if err == nil || context.Cause(within) != errWaited || ctx.Err() != nil {
		return c, err
	}
	if last == nil {
		return nil, &posthouse.Error{
			Code: posthouse.CodeBusy, Message: "thread " + o.Thread + ": others in this process wait for it, too, and had no turn within " + o.Wait.String(),
			Hint: "wait longer, or look at what runs the thread",
		}
	}
	busy := *last
	busy.Message += ", and was for the " + o.Wait.String() + " of the wait"
	return nil, &busy
}

// isSameRun reports whether the same run has the thread, in this process.
func (o *Options) isSameRun(l *ledger.Ledger, err error) bool {
	var e *posthouse.Error
	return o.Join && errors.As(err, &e) && e.Lease != nil && e.Lease.Run == o.Run && e.Lease.Owner == l.Core().Config.Owner
}

// onBusy applies the strategy to the thread's holder. An error ends the wait.
func (o *Options) onBusy(ctx context.Context, l *ledger.Ledger, e *posthouse.Error) error {
	switch {
	case o.isSameRun(l, e):
		return nil
	case o.OnBusy == runs.Reject, o.Join && e.Lease.Run == o.Run:
		return e
	case o.OnBusy == runs.Enqueue:
		return nil
	}
	if !o.contention.asked {
		info, err := l.Thread(ctx, o.Thread)
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return err
		}
		if err == nil {
			b, _ := info.Branch(o.Branch)
			o.contention.was = b.Head
		}
		o.contention.asked = true
	}
	_, err := l.Cancel(ctx, o.Thread, &ledger.CancelOptions{Branch: o.Branch, By: o.By, Reason: "run " + o.Run + " took its place"})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	return err
}

// hasPendingCancel reports whether a lost run left a request to cancel the branch.
func hasPendingCancel(c *ledger.Claim, branch string) bool {
	found := c.Found()
	return found != nil && slices.ContainsFunc(found.Cancelling, func(m posthouse.CancelMark) bool { return m.Branch == branch })
}

// Displaced reports whether another run of the branch was cancelled to make room for this
// one. Its last checkpoint is the head.
func (s *Session) Displaced() bool {
	h := s.Head()
	return s.opt.contention.asked && h != nil && h.Kind == posthouse.KindCancel && h.ID != s.opt.contention.was
}
