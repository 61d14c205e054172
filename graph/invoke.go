package graph

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
)

// Run gives the thread an input and runs the graph from Start until it is done
// or parks. A new thread begins with the input as its state; an existing one
// takes it over its head's state: append parts append, other parts replace
// unless they are zero ([App.Update] sets zero values). Questions that were
// open on the branch are cancelled.
//
// A run that waits for a gate or was interrupted is no error: see
// Result.Status. Errors are a [NodeError] (the thread is failed and can be
// resumed), a [RecursionError], [posthouse.ErrBusy] while somebody else runs
// the thread, the context's when it is cancelled (the thread is as it was
// before the node that was running, and can be resumed), or the Ledger's: then
// nothing after the last checkpoint happened.
func (a *App[S]) Run(ctx context.Context, thread string, input S, o ...RunOptions) (*Result[S], error) {
	return a.call(ctx, thread, o, func(ctx context.Context, r *run[S]) (*Result[S], error) { return r.start(ctx, &input) })
}

// Resume goes on from the head of the thread's branch: behind an interrupt, in
// a node that waited or failed (it runs again from its start, with its recorded
// steps), or where a process died. A finished or cancelled thread returns its
// state without running anything, one whose gates are all undecided waits on.
// [posthouse.ErrNotFound] for an unknown thread; otherwise as [App.Run].
func (a *App[S]) Resume(ctx context.Context, thread string, o ...RunOptions) (*Result[S], error) {
	return a.call(ctx, thread, o, func(ctx context.Context, r *run[S]) (*Result[S], error) { return r.resume(ctx) })
}

var _ posthouse.Program = (*App[struct{}])(nil)

// Advance is Resume for a runner, which knows a [posthouse.Program] only.
func (a *App[S]) Advance(ctx context.Context, thread, branch string) error {
	_, err := a.Resume(ctx, thread, RunOptions{Branch: branch})
	return err
}

// Replay runs again from a past checkpoint, on a new branch: what came after
// it stays where it is. Steps recorded after the checkpoint are computed anew,
// gates that were open at it are asked again under new ids.
func (a *App[S]) Replay(ctx context.Context, checkpoint posthouse.ID, o ...RunOptions) (*Result[S], error) {
	opt, err := one(o)
	if err != nil {
		return nil, err
	}
	s, err := a.Fork(ctx, checkpoint, nil, ForkOptions{Branch: opt.Branch, By: opt.By})
	if err != nil {
		return nil, err
	}
	opt.Branch = s.Branch
	return a.Resume(ctx, s.Thread, opt)
}

// call is do for a caller that reads nothing along.
func (a *App[S]) call(ctx context.Context, thread string, o []RunOptions, do func(context.Context, *run[S]) (*Result[S], error)) (*Result[S], error) {
	opt, err := one(o)
	if err != nil {
		return nil, err
	}
	return a.do(ctx, thread, opt, nil, do)
}

// do runs one call under a lease.
func (a *App[S]) do(ctx context.Context, thread string, opt RunOptions, h *hub, do func(context.Context, *run[S]) (*Result[S], error)) (*Result[S], error) {
	r, err := a.begin(ctx, thread, opt, h)
	if err != nil {
		return nil, err
	}
	defer r.sess.End(ctx) // for a panic of a codec
	res, err := do(ctx, r)
	if err != nil {
		err = r.releaseFailed(ctx, err)
	}
	if end := r.sess.End(ctx); end != nil {
		return nil, errors.Join(err, end)
	}
	return res, err
}
