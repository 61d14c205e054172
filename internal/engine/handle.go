package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
)

// A Handle cancels one run or call that is in flight and says how it ended. It is made
// before that begins, and is safe for concurrent use.
type Handle struct {
	mu     sync.Mutex
	done   chan struct{}
	reason runs.Reason
	err    error
	stop   func() // cancels what is in flight; nil before it began
}

// NewHandle returns a handle of something yet to begin.
func NewHandle() *Handle { return &Handle{done: make(chan struct{})} }

// Cancel cancels the context of what is in flight, with [posthouse.ErrCancelled] as the
// cause; its result does not count. Cancelling before it began keeps it from beginning.
// Cancelling what has ended, or again, does nothing.
func (h *Handle) Cancel() {
	h.mu.Lock()
	stop := h.stop
	first := h.settleLocked(runs.Cancelled, nil)
	h.mu.Unlock()
	if first && stop != nil {
		stop()
	}
}

// Done returns a channel that is closed when there is a reason, with Cancel at
// once.
func (h *Handle) Done() <-chan struct{} { return h.done }

// Reason returns how it ended, [runs.Running] if it has not.
func (h *Handle) Reason() runs.Reason {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason
}

// Err returns why it failed: nil unless the reason is [runs.Failed].
func (h *Handle) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Settle takes the reason from what a run or a call returned: [runs.Failed] with the error, or
// [runs.Done]. It reports whether that was the first reason. A nil handle does nothing.
func (h *Handle) Settle(err error) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		return h.settleLocked(runs.Failed, err)
	}
	return h.settleLocked(runs.Done, nil)
}

func (h *Handle) settleLocked(r runs.Reason, err error) bool {
	if h.reason != runs.Running {
		return false
	}
	h.reason, h.err, h.stop = r, err, nil
	close(h.done)
	return true
}

// Bind returns the context for what the handle is for, and a function that
// frees what it holds. A nil handle returns ctx.
func (h *Handle) Bind(ctx context.Context) (context.Context, func()) {
	if h == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(errCancelled) }
	h.mu.Lock()
	defer h.mu.Unlock()
	switch h.reason {
	case runs.Running:
		h.stop = stop
	case runs.Cancelled:
		stop()
	}
	return ctx, func() { cancel(nil) }
}

// errCancelled is the cause with which a cancelled run's context ends.
var errCancelled = &posthouse.Error{Code: posthouse.CodeCancelled, Message: "the run was cancelled"}

// WithCancel returns a context that ends when the handle or the session's branch is
// cancelled, with [posthouse.ErrCancelled] as the cause. The handle may be nil. The
// function frees what the context holds.
func (s *Session) WithCancel(ctx context.Context, h *Handle) (context.Context, func()) {
	ctx, free := h.Bind(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-s.Cancelled():
			cancel(errCancelled)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
		free()
	}
}

// IsCancelled reports whether ctx ended because somebody cancelled its run.
func IsCancelled(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), posthouse.ErrCancelled)
}
