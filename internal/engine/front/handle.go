package front

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// A Handle is a run that goes on by itself. R is its result. It is safe for concurrent
// use, and need not be kept.
type Handle[R any] struct {
	*handle
	result func() R // once it is done
}

// A handle is a run that goes on by itself, without the type of its result.
type handle struct {
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
func Typed[R, Q any](h *Handle[R], as func(R) Q) *Handle[Q] {
	return &Handle[Q]{h.handle, sync.OnceValue(func() Q { return as(h.result()) })}
}

// Start is Run in the background. It returns once the thread is claimed, or, where
// the run may have to wait for it, once it has its place in line. Ending ctx ends the run.
func (f *Front[O, In, R, C]) Start(ctx context.Context, thread string, in *In, o []O) (*Handle[*R], error) {
	opt, c, err := f.options(o, in != nil)
	if err != nil {
		return nil, err
	}
	drain, stop := context.WithCancel(context.Background())
	h := &handle{ledger: f.Ledger, thread: cmp.Or(thread, posthouse.DefaultThread), branch: c.Branch, drain: stop, done: make(chan struct{})}
	around := engine.DrainOf(ctx)
	if engine.Closed(around) {
		h.Drain()
	}
	ctx, h.stopWaiting = context.WithCancelCause(engine.WithDrain(ctx, drain.Done()))
	var res *R
	var s *session.Session
	var place *ledger.Ticket
	if c.OnBusy == runs.Reject && c.Run == "" {
		s, err = f.openSession(ctx, thread, &c, in != nil, nil)
		if err != nil {
			h.stopWaiting(nil)
			return nil, err
		}
		h.begun = true
	} else {
		place = f.Ledger.NewTicket(h.thread, c.OnBusy != runs.Enqueue)
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
			h.err = h.markBegun(ctx, s, err)
			if h.err != nil {
				return
			}
		}
		res, h.err = f.drive(ctx, s, f.NewRun(s, &opt, nil), &c, in)
		h.cancelled = h.err == nil && f.Status(res) == posthouse.StatusCancelled
	}()
	return &Handle[*R]{h, func() *R { return res }}, nil
}

// markBegun ends the time in which Cancel keeps the run from beginning. err says why it
// could not begin.
func (h *handle) markBegun(ctx context.Context, s *session.Session, err error) error {
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
func (h *handle) Done() <-chan struct{} { return h.done }

// Result waits for the end and returns the run's result. One that was cancelled before it
// began is [posthouse.ErrCancelled].
func (h *Handle[R]) Result() (R, error) {
	<-h.done
	return h.result(), h.err
}

// Reason returns how the run ended, [runs.Running] if it has not. The record
// decides.
func (h *handle) Reason() runs.Reason {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !engine.Closed(h.done):
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
func (h *handle) Cancel(ctx context.Context, reason string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if engine.Closed(h.done) {
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
func (h *handle) Drain() { h.drain() }
