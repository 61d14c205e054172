package flow

import (
	"cmp"
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// RunOptions refine one Run, Resume, Stream, Start or Replay. The zero value is
// useful.
type RunOptions struct {
	Branch       string // default main; for Replay the new branch, default fork-1, fork-2, ...
	Run          string // Run: an id of the caller's for this execution, at most 200 bytes, that makes the call idempotent; default a new id
	By           string // who does this, for the checkpoint of Run and Replay: on whose behalf the run acts, also when it is resumed; Resume: for this call, default whoever sent the input
	Coordination string // Run: a label that groups threads, kept; default the thread's own id

	Labels map[string]string // Run: of the input's checkpoint, to find and to keep it by; at most 16, keys and values at most 200 bytes

	Release *AutoRelease // when the run releases the thread; default Options.Release

	OnBusy OnBusy // what to do when another run has the thread; default Reject

	Modes []StreamMode // what a stream yields; default StreamValues
}

func (o *RunOptions) validate(input bool) error {
	switch {
	case o.OnBusy > Rollback:
		return invalid("OnBusy", "%d is unknown", o.OnBusy)
	case o.OnBusy > Enqueue && !input:
		return invalid("OnBusy", "cancels another run only to take an input")
	}
	if err := posthouse.CheckPerson("By", o.By); err != nil {
		return err
	}
	return engine.CheckModes(o.Modes)
}

// Run gives the thread an input and executes the function until it is done or
// parks. The input is on record before the function begins. A thread that has
// ended, failed or waits begins a new execution; what it waited for is cancelled.
//
// Where RunOptions.Run names an execution that the branch has already, nothing
// new begins: the newest is gone on with as by [App.Resume], or, while somebody
// runs it, returned with the status running (with OnBusy other than Reject it is
// waited for, if it goes on in this process); of an earlier one the last
// checkpoint is returned. So a request that is sent twice is executed once, and
// acts for whoever sent it first; with another input it is [posthouse.ErrExists].
//
// A run that waits, or was cancelled, is no error: see Result.Status. Errors are an [Error] (the
// function failed; the thread can be resumed), [posthouse.ErrBusy] while
// somebody runs another execution of the thread, ctx's error when it ends (the
// thread can be resumed, steps that are done stay done), or the Ledger's: then
// nothing after the last checkpoint or step happened.
func (a *App[In, Out]) Run(ctx context.Context, thread string, in In, o ...RunOptions) (*Result[Out], error) {
	return a.call(ctx, thread, &in, o)
}

// Resume executes the function again, behind an answer, a failure or the death
// of a process. Steps on record are not run again. A thread that is done or
// cancelled returns its result, one whose waits are not over waits on.
// [posthouse.ErrNotFound] for an unknown thread; otherwise as [App.Run].
func (a *App[In, Out]) Resume(ctx context.Context, thread string, o ...RunOptions) (*Result[Out], error) {
	return a.call(ctx, thread, nil, o)
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
	opt, err := oneOption(o)
	if err != nil {
		return nil, err
	}
	if err := opt.validate(false); err != nil {
		return nil, err
	}
	source, err := a.ledger.GetHeader(ctx, checkpoint)
	if err != nil {
		return nil, err
	}
	if err := a.owns(source); err != nil {
		return nil, err
	}
	own := opt
	own.Branch = source.Branch
	r, err := a.begin(ctx, source.Thread, own, nil, false, nil) // first, so that a thread that is busy gets no branch
	if err != nil {
		return nil, err
	}
	s, err := r.sess.Fork(ctx, checkpoint, &ledger.ForkOptions{Branch: opt.Branch, By: opt.By})
	if err != nil {
		return nil, errors.Join(err, r.sess.End(ctx))
	}
	r.opt.Branch = s.Branch
	return a.drive(ctx, r, nil)
}

// call is do for a caller that reads nothing along.
func (a *App[In, Out]) call(ctx context.Context, thread string, in *In, o []RunOptions) (*Result[Out], error) {
	opt, err := oneOption(o)
	if err != nil {
		return nil, err
	}
	return a.do(ctx, thread, opt, nil, in)
}

// do runs one call; without an input it resumes.
func (a *App[In, Out]) do(ctx context.Context, thread string, opt RunOptions, h *engine.Hub, in *In) (*Result[Out], error) {
	if err := opt.validate(in != nil); err != nil {
		return nil, err
	}
	r, err := a.begin(ctx, thread, opt, h, in != nil, nil)
	if err == nil {
		return a.drive(ctx, r, in)
	}
	if in != nil && opt.Run != "" && errors.Is(err, posthouse.ErrBusy) {
		switch known, other := a.runningElsewhere(ctx, thread, opt, in, err); {
		case other != nil:
			return nil, other
		case known != nil:
			return known, nil
		}
	}
	return nil, err
}

// begin claims the thread. place may be nil.
func (a *App[In, Out]) begin(ctx context.Context, thread string, opt RunOptions, h *engine.Hub, input bool, place *ledger.Ticket) (*run[In, Out], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, err := engine.Begin(ctx, a.ledger, engine.SessionOptions{
		Thread: cmp.Or(thread, posthouse.DefaultThread), Branch: opt.Branch, Run: opt.Run, Hold: a.hold,
		OnBusy: opt.OnBusy, Place: place, Join: input && opt.Run != "" && (place != nil || opt.OnBusy != Reject), NewInput: input, By: opt.By, Instance: a.instance,
	})
	if err != nil {
		return nil, err
	}
	r := &run[In, Out]{app: a, sess: s, opt: opt, id: s.Run(), hub: h}
	if head := s.Head(); head != nil {
		if err := a.owns(head); err != nil {
			return nil, errors.Join(err, s.End(ctx))
		}
	}
	if h != nil {
		s.OnCommit(r.reportCommit)
	}
	return r, nil
}

// drive runs one call under its lease, and ends the branch if somebody asks to
// cancel it meanwhile.
func (a *App[In, Out]) drive(ctx context.Context, r *run[In, Out], in *In) (*Result[Out], error) {
	defer r.sess.End(ctx) // for a panic of an observer
	res, err := r.dispatch(ctx, in)
	if e := r.autoRelease(ctx, res, err); e != nil {
		err = errors.Join(err, e)
	}
	if end := r.sess.End(ctx); end != nil {
		return nil, errors.Join(err, end)
	}
	if r.sess.Asked() && (res == nil || res.Status != posthouse.StatusDone && res.Status != posthouse.StatusCancelled) {
		return r.cancelLate(ctx, res, err)
	}
	return res, err
}

// dispatch does what the call is for.
func (r *run[In, Out]) dispatch(ctx context.Context, in *In) (*Result[Out], error) {
	if in == nil {
		return r.resume(ctx)
	}
	if r.opt.Run != "" {
		if known, err := r.repeated(ctx, in); known != nil || err != nil {
			return known, err
		}
	}
	if r.opt.OnBusy == Rollback && r.sess.Displaced() {
		if _, err := r.sess.RollBack(ctx, &posthouse.Change{Run: r.id, Graph: r.app.name, By: r.opt.By}); err != nil {
			return nil, err
		}
	}
	return r.start(ctx, *in)
}
