package flow

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
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

func (o *RunOptions) check(bool) (engine.Invocation, error) {
	c := engine.Invocation{Branch: o.Branch, Run: o.Run, By: o.By, OnBusy: o.OnBusy, Modes: o.Modes}
	return c, posthouse.CheckPerson("By", o.By)
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
	return a.front.Call(ctx, thread, &in, o)
}

// Resume executes the function again, behind an answer, a failure or the death
// of a process. Steps on record are not run again. A thread that is done or
// cancelled returns its result, one whose waits are not over waits on.
// [posthouse.ErrNotFound] for an unknown thread; otherwise as [App.Run].
func (a *App[In, Out]) Resume(ctx context.Context, thread string, o ...RunOptions) (*Result[Out], error) {
	return a.front.Call(ctx, thread, nil, o)
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
	return a.front.Replay(ctx, checkpoint, o)
}
