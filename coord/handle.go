package coord

import (
	"context"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
)

// A Handle cancels a request or a call that is in flight and says how it ended: done,
// cancelled or failed, the first of them. Make one with [NewHandle] and give it to
// [HandleOptions], [ResumeOptions] or [CallOptions]. It is safe for concurrent use.
type Handle struct {
	mu     sync.Mutex
	done   chan struct{}
	reason runs.Reason
	err    error
	stop   func() // cancels what is in flight; nil before it began
}

// NewHandle returns a handle of something yet to begin.
func NewHandle() *Handle { return &Handle{done: make(chan struct{})} }

// Cancel cancels the context of the request or call, with [posthouse.ErrCancelled] as the
// cause; its result does not count. Cancelling before it began keeps it from beginning.
// Cancelling what has ended, or again, does nothing.
func (h *Handle) Cancel() {
	h.mu.Lock()
	stop := h.stop
	first := h.end(runs.Cancelled, nil)
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

// finish takes the reason from what a run or a call returned: [runs.Failed] with the error, or
// [runs.Done]. It reports whether that was the first reason. A nil handle does nothing.
func (h *Handle) finish(err error) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		return h.end(runs.Failed, err)
	}
	return h.end(runs.Done, nil)
}

func (h *Handle) end(r runs.Reason, err error) bool {
	if h.reason != runs.Running {
		return false
	}
	h.reason, h.err, h.stop = r, err, nil
	close(h.done)
	return true
}

// bind returns the context for what the handle is for, and a function that
// frees what it holds. A nil handle returns ctx.
func (h *Handle) bind(ctx context.Context) (context.Context, func()) {
	if h == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(errHandleCancelled) }
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

// errHandleCancelled is the cause with which the context of a cancelled request or call ends.
var errHandleCancelled = &posthouse.Error{Code: posthouse.CodeCancelled, Message: "the run was cancelled"}
