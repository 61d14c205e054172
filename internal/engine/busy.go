package engine

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
	was   posthouse.ID // the branch's head before, "" for none
}

// claimThread claims the thread, through the queue unless the caller would not wait.
func (o *SessionOptions) claimThread(ctx context.Context, l *ledger.Ledger) (*ledger.Claim, error) {
	if o.Place == nil && o.OnBusy == runs.Reject && o.Wait == 0 {
		c, err := l.Claim(ctx, o.Thread, o.Run)
		if err == nil || !o.isSameRun(l, err) {
			return c, err
		}
	}
	p := o.Place
	if p == nil {
		p = l.Core().NewTicket(o.Thread, o.OnBusy != runs.Enqueue)
	}
	if o.Wait == 0 {
		return p.Claim(ctx, o.Run, func(e *posthouse.Error) error { return o.onBusy(ctx, l, e) })
	}
	return o.claimWithin(ctx, l, p)
}

// errWaited ends a wait whose time is over.
var errWaited = errors.New("waited for the thread")

// claimWithin claims the thread within Wait, or returns the error of who has it.
func (o *SessionOptions) claimWithin(ctx context.Context, l *ledger.Ledger, p *ledger.Ticket) (*ledger.Claim, error) {
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
func (o *SessionOptions) isSameRun(l *ledger.Ledger, err error) bool {
	var e *posthouse.Error
	return o.Join && errors.As(err, &e) && e.Lease != nil && e.Lease.Run == o.Run && e.Lease.Owner == l.Core().Config.Owner
}

// onBusy applies the strategy to the thread's holder. An error ends the wait.
func (o *SessionOptions) onBusy(ctx context.Context, l *ledger.Ledger, e *posthouse.Error) error {
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
func (s *Session) hasPendingCancel() bool {
	found := s.claim.Found()
	return found != nil && slices.ContainsFunc(found.Cancelling, func(m posthouse.CancelMark) bool { return m.Branch == s.branch })
}

// displaced reports whether another run of the branch was cancelled to make room for this
// one. Its last checkpoint is the head.
func (s *Session) displaced() bool {
	h := s.Head()
	return s.contention.asked && h != nil && h.Kind == posthouse.KindCancel && h.ID != s.contention.was
}

// RollBack restores the branch to what it was before its last input. A checkpoint of kind
// update undoes what that changed; c has its other fields, such as the program's name. It
// returns nil for a branch that began without an input.
func (s *Session) RollBack(ctx context.Context, c *posthouse.Change) (*posthouse.Header, error) {
	h, err := s.Head(), error(nil)
	for h.Kind != posthouse.KindInput {
		if h.Parent == "" {
			return nil, nil
		}
		if h, err = s.ledger.GetHeader(ctx, h.Parent); err != nil {
			return nil, err
		}
	}
	now, err := ledger.GetOf(ctx, s.ledger, s.Head())
	if err != nil {
		return nil, err
	}
	before := &posthouse.Checkpoint{State: posthouse.State{}}
	if h.Parent != "" {
		if before, err = s.ledger.Get(ctx, h.Parent); err != nil {
			return nil, err
		}
	}
	c.Kind, c.Status = posthouse.KindUpdate, posthouse.StatusInterrupted
	c.Node, c.Next, c.State, c.Metadata = before.Node, before.Next, before.State, before.Metadata
	if len(c.Next) == 0 {
		c.Status = posthouse.StatusDone
	}
	if before.ID != "" {
		c.Source = &posthouse.Source{Thread: before.Thread, ID: before.ID}
	}
	for name, v := range before.Program {
		c.Program = append(c.Program, posthouse.Part{Name: name, Codec: v.Codec, Data: v.Data})
	}
	for name := range now.Program {
		if _, kept := before.Program[name]; !kept {
			c.Program = append(c.Program, posthouse.Part{Name: name, Drop: true})
		}
	}
	if c.Metadata == nil {
		c.Metadata = map[string]string{} // and not the parent's
	}
	if _, err := s.Commit(ctx, &ledger.Draft{Checkpoint: c}); err != nil {
		return nil, err
	}
	return s.Head(), nil
}
