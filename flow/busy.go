package flow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/front"
)

// Repeated returns the result of the execution that RunOptions.Run names, nil if the
// branch does not have it. It fails with [posthouse.ErrExists] for another input
// than it had.
func (r *run[In, Out]) Repeated(ctx context.Context, in *In) (*Result[Out], error) {
	h := r.sess.Head()
	if h == nil {
		return nil, nil
	}
	if h.Run == r.opt.Run {
		if err := r.app.sameInput(ctx, h, in); err != nil {
			return nil, err
		}
		r.opt.By = ""
		return r.Resume(engine.WithoutPrincipal(ctx))
	}
	return r.app.earlierResult(ctx, h, r.opt.Run, in)
}

// sameInput refuses an input that is not the one of h's execution.
func (a *App[In, Out]) sameInput(ctx context.Context, h *posthouse.Header, in *In) error {
	c, err := a.ledger.Get(ctx, h.ID)
	if err != nil {
		return err
	}
	was, ok := c.State[partInput]
	if !ok {
		return nil // it is not a flow's, which is reported later
	}
	now, err := posthouse.Encode(a.codec, *in)
	if err != nil || bytes.Equal(was.Data, now.Data) {
		return err
	}
	before, err := posthouse.Decode[In](was, a.codec) // a codec may encode one value in several ways
	if err == nil {
		var after In
		after, err = posthouse.Decode[In](now, a.codec)
		if err == nil && reflect.DeepEqual(before, after) {
			return nil
		}
	}
	return &posthouse.Error{
		Code: posthouse.CodeExists, Field: "Run", Message: h.Run + " of thread " + h.Thread + " began with another input", Err: err,
		Hint: "send the input that the run had, or give this one a run id of its own",
	}
}

// earlierResult returns the result of an earlier execution of head's branch.
func (a *App[In, Out]) earlierResult(ctx context.Context, head *posthouse.Header, run string, in *In) (*Result[Out], error) {
	q := posthouse.Query{Thread: head.Thread, Branch: head.Branch, Descending: true}
	for h, err := range a.ledger.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if h.Run == run {
			if err := a.sameInput(ctx, h, in); err != nil {
				return nil, err
			}
			return a.result(ctx, h.ID)
		}
	}
	return nil, nil
}

// runningElsewhere returns the result of an execution that another caller runs, or ended a
// moment ago, nil if that is not the one of c. [posthouse.ErrExists] for another input than it
// had.
func (a *App[In, Out]) runningElsewhere(ctx context.Context, thread string, c *front.Invocation, in *In, cause error) (*Result[Out], error) {
	res := &Result[Out]{Thread: thread, Branch: cmp.Or(c.Branch, posthouse.MainBranch), Run: c.Run, Status: posthouse.StatusRunning}
	info, err := a.ledger.Thread(ctx, thread)
	if err == nil {
		if b, ok := info.Branch(res.Branch); ok {
			if h, err := a.ledger.GetHeader(ctx, b.Head); err == nil && h.Run == c.Run && a.front.Owns(h) == nil {
				res.Checkpoint = h.ID
				err := a.sameInput(ctx, h, in)
				if err == nil && (h.Status == posthouse.StatusDone || h.Status == posthouse.StatusCancelled) {
					return a.result(ctx, h.ID) // whoever ran it has not given the thread back
				}
				return res, err
			}
		}
	}
	var busy *posthouse.Error
	if errors.As(cause, &busy) && busy.Lease != nil && busy.Lease.Run == c.Run {
		return res, nil
	}
	return nil, nil
}
