package coord

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/runs"
)

// A Handle cancels a request or a call that is in flight and says how it ended: done,
// cancelled or failed, the first of them. Make one with [NewHandle] and give it to
// [HandleOptions], [ResumeOptions] or [CallOptions]. It is safe for concurrent use.
type Handle struct{ run *engine.Handle }

// NewHandle returns a handle of something yet to begin.
func NewHandle() *Handle { return &Handle{engine.NewHandle()} }

// Cancel cancels the context of the request or call, with [posthouse.ErrCancelled] as the
// cause; its result does not count. Cancelling before it began keeps it from beginning.
// Cancelling what has ended, or again, does nothing.
func (h *Handle) Cancel() { h.run.Cancel() }

// Done returns a channel that is closed when there is a reason, with Cancel at once.
func (h *Handle) Done() <-chan struct{} { return h.run.Done() }

// Reason returns how it ended, [runs.Running] if it has not.
func (h *Handle) Reason() runs.Reason { return h.run.Reason() }

// Err returns why it failed: nil unless the reason is [runs.Failed].
func (h *Handle) Err() error { return h.run.Err() }

// engines returns the handle that the engine works with, nil for a nil handle.
func (h *Handle) engines() *engine.Handle {
	if h == nil {
		return nil
	}
	return h.run
}

// CallOptions refine a call. Nil is the zero value.
type CallOptions struct {
	Handle *Handle // cancels this call
}

var errCallCancelled = errors.New("the call was cancelled")

// run runs a skill under the call's handle. The result of a cancelled call does not count.
func (o *CallOptions) run(ctx context.Context, fn Skill, c Call) (res Result, cancelled bool, err error) {
	var h *engine.Handle
	if o != nil {
		h = o.Handle.engines()
	}
	ctx, free := h.Bind(ctx)
	defer free()
	if engine.IsCancelled(ctx) {
		return Result{}, true, context.Cause(ctx)
	}
	err = engine.Guard(func() (err error) {
		res, err = fn(ctx, c)
		return err
	})
	h.Settle(err)
	return res, h != nil && h.Reason() == runs.Cancelled, err
}

func (r *run) isCancelled(ctx context.Context) bool {
	return engine.IsCancelled(ctx) || errors.Is(r.sessionError(), posthouse.ErrCancelled)
}

// finishCancelled ends the request. It keeps what completed, as far as it can, and commits
// the branch's last checkpoint. It writes nothing if nothing is on record and no agent
// completed.
func (r *run) finishCancelled(ctx context.Context) (*Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.due && r.err == nil {
		if err := r.flush(ctx); err != nil && !errors.Is(err, posthouse.ErrCancelled) {
			return nil, err
		}
	}
	cause := &posthouse.Error{
		Code: posthouse.CodeCancelled, Message: "the request of thread " + r.sess.Thread() + " was cancelled",
	}
	if r.opening != nil {
		return &Reply{Thread: r.sess.Thread(), Status: posthouse.StatusCancelled, Text: r.session.Text()}, cause
	}
	if _, err := r.sess.FinishCancelled(ctx); err != nil {
		return nil, err
	}
	return r.reply(), cause
}
