package coord

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/runs"
)

// CallOptions refine a call. Nil is the zero value.
type CallOptions struct {
	Handle *Handle // cancels this call
}

var errCallCancelled = errors.New("the call was cancelled")

// run runs a skill under the call's handle. The result of a cancelled call does not count.
func (o *CallOptions) run(ctx context.Context, fn Skill, c Call) (res Result, cancelled bool, err error) {
	var h *Handle
	if o != nil {
		h = o.Handle
	}
	ctx, free := h.bind(ctx)
	defer free()
	if session.IsCancelled(ctx) {
		return Result{}, true, context.Cause(ctx)
	}
	err = engine.Guard(func() (err error) {
		res, err = fn(ctx, c)
		return err
	})
	h.finish(err)
	return res, h != nil && h.Reason() == runs.Cancelled, err
}

func (r *run) isCancelled(ctx context.Context) bool {
	return session.IsCancelled(ctx) || errors.Is(r.sessionError(), posthouse.ErrCancelled)
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
	if _, err := r.sess.Cancellation().Finish(ctx); err != nil {
		return nil, err
	}
	return r.reply(), cause
}
