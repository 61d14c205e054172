package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A Background is somebody's hold on a run that goes on by itself. R is what it comes
// to. It is safe for concurrent use, and need not be kept.
type Background[R any] struct {
	opt         backgroundOptions[R]
	stopWaiting context.CancelCauseFunc // before it began: gives up the line
	done        chan struct{}
	res         R
	err         error

	mu             sync.Mutex
	begun          bool
	cancelledEarly bool // cancelled before it began
	drain          chan struct{}
	draining       bool
}

// backgroundOptions say what to run.
type backgroundOptions[R any] struct {
	ledger         *ledger.Ledger
	thread, branch string
	onBusy         OnBusy
	line           bool // it may wait for the thread in the background; else begin is called at once, and its error is launch's

	begin     func(ctx context.Context, place *ledger.Ticket) (*begun[R], error) // claims the thread; place is nil unless line
	cancelled func(R) bool                                                       // whether that is the result of a run that was cancelled
}

// A begun is a run that has its thread.
type begun[R any] struct {
	session *Session
	drive   func(context.Context) (R, error) // runs, and ends the session
}

// launch begins a run and returns while it goes on. Ending ctx ends the run.
func launch[R any](ctx context.Context, o backgroundOptions[R]) (*Background[R], error) {
	around, drains := DrainOf(ctx), Draining(ctx)
	h := &Background[R]{opt: o, done: make(chan struct{}), drain: make(chan struct{})}
	ctx, h.stopWaiting = context.WithCancelCause(WithDrain(ctx, h.drain))
	var b *begun[R]
	var place *ledger.Ticket
	if o.line {
		place = o.ledger.Core().NewTicket(o.thread, o.onBusy != Enqueue)
	} else {
		var err error
		if b, err = o.begin(ctx, nil); err != nil {
			h.stopWaiting(nil)
			return nil, err
		}
		h.begun = true
	}
	switch {
	case drains:
		h.Drain()
	case around != nil:
		go func() {
			select {
			case <-around:
				h.Drain()
			case <-h.done:
			}
		}()
	}
	go h.run(ctx, b, place)
	return h, nil
}

func (h *Background[R]) run(ctx context.Context, b *begun[R], place *ledger.Ticket) {
	defer close(h.done)
	defer h.stopWaiting(nil)
	if b == nil {
		defer place.Leave()
		var err error
		b, err = h.opt.begin(ctx, place)
		if h.err = h.markBegun(ctx, b, err); h.err != nil {
			return
		}
	}
	h.res, h.err = b.drive(ctx)
}

// markBegun ends the time in which Cancel keeps the run from beginning. err is that
// of the attempt to begin.
func (h *Background[R]) markBegun(ctx context.Context, b *begun[R], err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && ctx.Err() != nil {
		err = b.session.End(ctx)
	}
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	h.begun = true
	return err
}

// Done returns a channel that is closed when the run has ended and given the
// thread back.
func (h *Background[R]) Done() <-chan struct{} { return h.done }

// Result waits for the end and returns what the run came to. One that was
// cancelled before it began is [posthouse.ErrCancelled].
func (h *Background[R]) Result() (R, error) {
	<-h.done
	return h.res, h.err
}

// Reason returns how the run ended, [Running] if it has not. What is on record
// decides.
func (h *Background[R]) Reason() Reason {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !Closed(h.done):
		return Running
	case h.cancelledEarly, h.err == nil && h.opt.cancelled(h.res):
		return Cancelled
	case h.err != nil:
		return Failed
	}
	return Done
}

// Cancel asks to cancel the run, by [ledger.Ledger.Cancel], or keeps it from
// beginning. It does not wait for the end. Cancelling again, or what has ended,
// does nothing. An error says that the request could not be put on record.
func (h *Background[R]) Cancel(ctx context.Context, reason string) error {
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
	_, err := h.opt.ledger.Cancel(ctx, h.opt.thread, &ledger.CancelOptions{Branch: h.opt.branch, Reason: reason})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil // it has just ended, with nothing on record
	}
	return err
}

// Drain asks the run to stop before what it would do next. Draining again does
// nothing.
func (h *Background[R]) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.draining {
		h.draining = true
		close(h.drain)
	}
}
