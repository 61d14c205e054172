package engine

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// A Background is a run that goes on by itself. R is its result. It is safe for concurrent
// use, and need not be kept.
type Background[R any] struct {
	*background
	result func() R // once it is done
}

// A background is a run that goes on by itself, without the type of its result.
type background struct {
	ledger         *ledger.Ledger
	thread, branch string
	stopWaiting    context.CancelCauseFunc
	drain          context.CancelFunc
	done           chan struct{}
	cancelled      bool // its result is that of a cancelled run
	err            error

	mu             sync.Mutex
	begun          bool
	cancelledEarly bool // before it began
}

// Typed returns the same run with its result as another type has it.
func Typed[R, Q any](h *Background[R], as func(R) Q) *Background[Q] {
	return &Background[Q]{h.background, sync.OnceValue(func() Q { return as(h.result()) })}
}

// Launch is Call in the background. It returns once the thread is claimed, or, where
// the run may have to wait for it, once it has its place in line. Ending ctx ends the run.
func (f *Front[O, In, R, C]) Launch(ctx context.Context, thread string, in *In, o []O) (*Background[*R], error) {
	opt, c, err := f.options(o, in != nil)
	if err != nil {
		return nil, err
	}
	drain, stop := context.WithCancel(context.Background())
	h := &background{ledger: f.Ledger, thread: cmp.Or(thread, posthouse.DefaultThread), branch: c.Branch, drain: stop, done: make(chan struct{})}
	around := DrainOf(ctx)
	if Closed(around) {
		h.Drain()
	}
	ctx, h.stopWaiting = context.WithCancelCause(WithDrain(ctx, drain.Done()))
	var res *R
	var s *Session
	var place *ledger.Ticket
	if c.OnBusy == runs.Reject && c.Run == "" {
		if s, err = f.openSession(ctx, thread, &c, in != nil, nil); err != nil {
			h.stopWaiting(nil)
			return nil, err
		}
		h.begun = true
	} else {
		place = f.Ledger.Core().NewTicket(h.thread, c.OnBusy != runs.Enqueue)
	}
	go func() {
		select {
		case <-around:
			h.Drain()
		case <-h.done:
		}
	}()
	go func() {
		defer close(h.done)
		defer h.stopWaiting(nil)
		if s == nil {
			defer place.Leave()
			s, err = f.openSession(ctx, thread, &c, in != nil, place)
			if h.err = h.markBegun(ctx, s, err); h.err != nil {
				return
			}
		}
		res, h.err = f.drive(ctx, s, f.NewRun(s, &opt, nil), &c, in)
		h.cancelled = h.err == nil && f.Status(res) == posthouse.StatusCancelled
	}()
	return &Background[*R]{h, func() *R { return res }}, nil
}

// markBegun ends the time in which Cancel keeps the run from beginning. err says why it
// could not begin.
func (h *background) markBegun(ctx context.Context, s *Session, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && ctx.Err() != nil {
		err = s.End(ctx)
	}
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	h.begun = true
	return err
}

// Done returns a channel that is closed when the run has ended and given the
// thread back.
func (h *background) Done() <-chan struct{} { return h.done }

// Result waits for the end and returns the run's result. One that was cancelled before it
// began is [posthouse.ErrCancelled].
func (h *Background[R]) Result() (R, error) {
	<-h.done
	return h.result(), h.err
}

// Reason returns how the run ended, [runs.Running] if it has not. What is on record
// decides.
func (h *background) Reason() runs.Reason {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !Closed(h.done):
		return runs.Running
	case h.cancelledEarly, h.cancelled:
		return runs.Cancelled
	case h.err != nil:
		return runs.Failed
	}
	return runs.Done
}

// Cancel asks to cancel the run, by [ledger.Ledger.Cancel], or keeps it from
// beginning. It does not wait for the end. Cancelling again, or what has ended,
// does nothing. An error says that the request could not be put on record.
func (h *background) Cancel(ctx context.Context, reason string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if Closed(h.done) {
		return nil
	}
	if !h.begun {
		h.cancelledEarly = true
		h.stopWaiting(&posthouse.Error{Code: posthouse.CodeCancelled, Message: "the run was cancelled before it began"})
		return nil
	}
	_, err := h.ledger.Cancel(ctx, h.thread, &ledger.CancelOptions{Branch: h.branch, Reason: reason})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil // it has just ended, with nothing on record
	}
	return err
}

// Drain asks the run to stop before what it would do next. Draining again does
// nothing.
func (h *background) Drain() { h.drain() }
