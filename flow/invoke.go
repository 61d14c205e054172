package flow

import (
	"cmp"
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// RunOptions refine one Run, Resume or Replay. The zero value is useful.
type RunOptions struct {
	Branch       string // default main; for Replay the new branch, default fork-1, fork-2, ...
	Run          string // Run: an id of the caller's for this execution, at most 200 bytes, that makes the call idempotent; default a new id
	By           string // who does this, for the checkpoint of Run and Replay: on whose behalf the run acts, also when it is resumed; Resume: for this call, default whoever sent the input
	Coordination string // Run: a label that groups threads, kept; default the thread's own id

	Labels map[string]string // Run: of the input's checkpoint, to find and to keep it by; at most 16, keys and values at most 200 bytes
}

// Run gives the thread an input and executes the function until it is done or
// parks. The input is on record before the function begins. A thread that has
// ended, failed or waits begins a new execution; what it waited for is cancelled.
//
// Where RunOptions.Run names an execution that the branch has already, nothing
// new begins: the newest is gone on with as by [App.Resume], or, while somebody
// runs it, returned with the status running; of an earlier one the last
// checkpoint is returned. So a request that is sent twice is executed once.
//
// A run that waits is no error: see Result.Status. Errors are an [Error] (the
// function failed; the thread can be resumed), [posthouse.ErrBusy] while
// somebody runs another execution of the thread, ctx's error when it ends (the
// thread can be resumed, steps that are done stay done), or the Ledger's: then
// nothing after the last checkpoint or step happened.
func (a *App[In, Out]) Run(ctx context.Context, thread string, in In, o ...RunOptions) (*Result[Out], error) {
	opt, err := one(o)
	if err != nil {
		return nil, err
	}
	res, err := a.do(ctx, thread, opt, func(r *run[In, Out]) (*Result[Out], error) {
		if opt.Run != "" {
			if known, err := r.duplicate(ctx); known != nil || err != nil {
				return known, err
			}
		}
		return r.start(ctx, in)
	})
	if opt.Run != "" && errors.Is(err, posthouse.ErrBusy) {
		if known := a.running(ctx, thread, opt, err); known != nil {
			return known, nil
		}
	}
	return res, err
}

// Resume executes the function again, behind an answer, a failure or the death
// of a process. Steps on record are not run again. A thread that is done or
// cancelled returns its result, one whose waits are not over waits on.
// [posthouse.ErrNotFound] for an unknown thread; otherwise as [App.Run].
func (a *App[In, Out]) Resume(ctx context.Context, thread string, o ...RunOptions) (*Result[Out], error) {
	opt, err := one(o)
	if err != nil {
		return nil, err
	}
	return a.do(ctx, thread, opt, func(r *run[In, Out]) (*Result[Out], error) { return r.resume(ctx) })
}

var _ posthouse.Program = (*App[struct{}, struct{}])(nil)

// Advance is Resume for a runner, which knows a [posthouse.Program] only.
func (a *App[In, Out]) Advance(ctx context.Context, thread, branch string) error {
	_, err := a.Resume(ctx, thread, RunOptions{Branch: branch})
	return err
}

// Replay executes the function again from a past checkpoint, on a new branch:
// what came after it stays where it is. Steps recorded after the checkpoint are
// run anew, questions that were open at it are asked again under new ids.
func (a *App[In, Out]) Replay(ctx context.Context, checkpoint posthouse.ID, o ...RunOptions) (*Result[Out], error) {
	opt, err := one(o)
	if err != nil {
		return nil, err
	}
	s, err := a.Fork(ctx, checkpoint, nil, ForkOptions{Branch: opt.Branch, By: opt.By})
	if err != nil {
		return nil, err
	}
	return a.Resume(ctx, s.Thread, RunOptions{Branch: s.Branch, By: opt.By})
}

// do runs one call under a lease.
func (a *App[In, Out]) do(ctx context.Context, thread string, opt RunOptions, do func(*run[In, Out]) (*Result[Out], error)) (*Result[Out], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, err := engine.Begin(ctx, a.ledger, engine.SessionOptions{
		Thread: cmp.Or(thread, posthouse.DefaultThread), Branch: opt.Branch, Run: opt.Run, Hold: a.hold,
	})
	if err != nil {
		return nil, err
	}
	r := &run[In, Out]{app: a, sess: s, opt: opt, id: s.Run()}
	defer s.End(ctx) // for a panic of an observer
	var res *Result[Out]
	if h := s.Head(); h != nil {
		err = a.owns(h)
	}
	if err == nil {
		res, err = do(r)
	}
	if end := s.End(ctx); end != nil {
		return nil, errors.Join(err, end)
	}
	return res, err
}

// duplicate returns the result of the execution that RunOptions.Run names, nil
// if the branch has none.
func (r *run[In, Out]) duplicate(ctx context.Context) (*Result[Out], error) {
	h := r.sess.Head()
	if h == nil {
		return nil, nil
	}
	if h.Run == r.opt.Run {
		return r.resume(ctx)
	}
	return r.app.past(ctx, h, r.opt.Run)
}

// past returns the result of an earlier execution of head's branch.
func (a *App[In, Out]) past(ctx context.Context, head *posthouse.Header, run string) (*Result[Out], error) {
	q := posthouse.Query{Thread: head.Thread, Branch: head.Branch, Descending: true}
	for h, err := range a.ledger.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if h.Run == run {
			return a.result(ctx, h.ID)
		}
	}
	return nil, nil
}

// running returns the result of an execution that somebody else runs, nil if
// that is not the one of opt.
func (a *App[In, Out]) running(ctx context.Context, thread string, opt RunOptions, cause error) *Result[Out] {
	res := &Result[Out]{
		Thread: cmp.Or(thread, posthouse.DefaultThread), Branch: cmp.Or(opt.Branch, posthouse.MainBranch), Run: opt.Run, Status: posthouse.StatusRunning,
	}
	info, err := a.ledger.Thread(ctx, res.Thread)
	if err == nil {
		if b, ok := info.Branch(res.Branch); ok {
			if h, err := a.ledger.GetHeader(ctx, b.Head); err == nil && h.Run == opt.Run && a.owns(h) == nil {
				res.Checkpoint = h.ID
				return res
			}
		}
	}
	var busy *posthouse.Error
	if errors.As(cause, &busy) && busy.Lease != nil && busy.Lease.Run == opt.Run {
		return res
	}
	return nil
}
