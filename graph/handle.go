package graph

import (
	"context"
	"errors"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Reason says how a run ended.
type Reason = engine.Reason

// The reasons. What is on record decides: of a run that was cancelled while it
// completed, the first of both to be recorded.
const (
	Running   = engine.Running   // it has not ended
	Done      = engine.Done      // it is done, or parked: the result says which
	Cancelled = engine.Cancelled // somebody cancelled it
	Failed    = engine.Failed    // it returned an error
)

// A Handle is a hold on a run that goes on by itself. It is safe for concurrent
// use, and need not be kept.
type Handle[S any] struct {
	app            *App[S]
	thread, branch string
	leave          context.CancelCauseFunc // before it began: gives up the line
	done           chan struct{}
	res            *Result[S]
	err            error

	mu     sync.Mutex
	begun  bool
	never  bool // cancelled before it began
	drain  chan struct{}
	drains bool
}

// Start is [App.Run] in the background: it returns once the thread is claimed,
// or, with OnBusy other than Reject or an id of its own, once the run has its
// place in line: then [posthouse.ErrBusy] comes with the result. Ending
// ctx ends the run as it does Run's.
func (a *App[S]) Start(ctx context.Context, thread string, input S, o ...RunOptions) (*Handle[S], error) {
	return a.launch(ctx, thread, &input, o)
}

// ResumeStart is [App.Resume] in the background; see [App.Start].
func (a *App[S]) ResumeStart(ctx context.Context, thread string, o ...RunOptions) (*Handle[S], error) {
	return a.launch(ctx, thread, nil, o)
}

func (a *App[S]) launch(ctx context.Context, thread string, input *S, o []RunOptions) (*Handle[S], error) {
	opt, err := one(o)
	if err != nil {
		return nil, err
	}
	if err := opt.validate(input != nil); err != nil {
		return nil, err
	}
	if thread == "" {
		thread = posthouse.DefaultThread
	}
	around, drains := engine.DrainOf(ctx), engine.Draining(ctx)
	h := &Handle[S]{app: a, thread: thread, branch: opt.Branch, done: make(chan struct{}), drain: make(chan struct{})}
	ctx, h.leave = context.WithCancelCause(engine.WithDrain(ctx, h.drain))
	var r *run[S]
	var place *posthouse.Place
	if opt.OnBusy == Reject && opt.Run == "" {
		if r, err = a.begin(ctx, thread, opt, nil, input != nil, nil); err != nil {
			h.leave(nil)
			return nil, err
		}
		h.begun = true
	} else {
		place = a.ledger.Line(thread, opt.OnBusy != Enqueue)
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
	go func() {
		defer close(h.done)
		defer h.leave(nil)
		if r == nil {
			defer place.Leave()
			r, err = a.begin(ctx, thread, opt, nil, input != nil, place)
			if h.err = h.begins(ctx, r, err); h.err != nil {
				return
			}
		}
		h.res, h.err = a.drive(ctx, r, input)
	}()
	return h, nil
}

// begins ends the time in which Cancel keeps the run from beginning. err is that
// of the attempt to begin.
func (h *Handle[S]) begins(ctx context.Context, r *run[S], err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && ctx.Err() != nil {
		err = r.sess.End(ctx)
	}
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	h.begun = true
	return err
}

// Done returns a channel that is closed when the run has ended and given the
// thread back.
func (h *Handle[S]) Done() <-chan struct{} { return h.done }

// Result waits for the end and returns what Run would have: a run that was
// cancelled has a result of that status and no error. One that was cancelled
// before it began is [posthouse.ErrCancelled].
func (h *Handle[S]) Result() (*Result[S], error) {
	<-h.done
	return h.res, h.err
}

// Reason returns how the run ended, Running if it has not.
func (h *Handle[S]) Reason() Reason {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !isClosed(h.done):
		return Running
	case h.never, h.res != nil && h.res.Status == posthouse.StatusCancelled:
		return Cancelled
	case h.err != nil:
		return Failed
	}
	return Done
}

// Cancel asks to cancel the run, by [posthouse.Ledger.Cancel]: contexts of nodes
// end, the branch gets a checkpoint of status cancelled, and no node that did
// not complete makes one. Tasks of a step that completed stay on record. It does
// not wait for that: see Done. Cancelling again, or what has ended, does
// nothing. An error says that the request could not be put on record.
func (h *Handle[S]) Cancel(ctx context.Context, reason string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if isClosed(h.done) {
		return nil
	}
	if !h.begun {
		h.never = true
		h.leave(&posthouse.Error{Code: posthouse.CodeCancelled, Message: "the run was cancelled before it began"})
		return nil
	}
	_, err := h.app.ledger.Cancel(ctx, h.thread, &posthouse.CancelOptions{Branch: h.branch, Reason: reason})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil // it has just ended, with nothing on record
	}
	return err
}

// Drain asks the run to stop before its next node. Its result then has the
// status running, and [App.Resume] goes on. Draining again does nothing.
func (h *Handle[S]) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.drains {
		h.drains = true
		close(h.drain)
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
