package graph

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// Run gives the thread an input and runs the graph from Start until it is done
// or parks. A new thread begins with the input as its state; an existing one
// takes it over its head's state: append parts append, other parts replace
// unless they are zero ([App.Update] sets zero values). Questions that were
// open on the branch are cancelled.
//
// A run that waits for a gate, was interrupted or was cancelled is no error: see
// Result.Status. One with the id (RunOptions.Run) of a run that the thread has
// already does not run again: it returns what that one came to, waits for it if
// it goes on in this process, and continues it if it was lost, on behalf of
// whoever sent it first; the input is not compared. Errors are a [NodeError] (the thread is failed and can be
// resumed), a [RecursionError], [posthouse.ErrBusy] while somebody else runs
// the thread, the context's when it is cancelled (the thread is as it was
// before the node that was running, and can be resumed), or the Ledger's: then
// nothing after the last checkpoint happened.
func (a *App[S]) Run(ctx context.Context, thread string, input S, o ...RunOptions) (*Result[S], error) {
	return a.front.Call(ctx, thread, &input, o)
}

// Resume goes on from the head of the thread's branch: behind an interrupt, in
// a node that waited or failed (it runs again from its start, with its recorded
// steps), or where a process died. A finished or cancelled thread returns its
// state without running anything, one whose gates are all undecided waits on.
// [posthouse.ErrNotFound] for an unknown thread; otherwise as [App.Run].
func (a *App[S]) Resume(ctx context.Context, thread string, o ...RunOptions) (*Result[S], error) {
	return a.front.Call(ctx, thread, nil, o)
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
	return a.front.Replay(ctx, checkpoint, o)
}

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
// use, and need not be kept. Its methods:
//
//	Done() <-chan struct{}                    // closed when the run has ended and given the thread back
//	Result() (*Result[S], error)              // waits for the end, and returns what Run would have
//	Reason() Reason                           // how it ended, Running if it has not
//	Cancel(ctx context.Context, reason string) error
//	Drain()                                   // asks it to stop before its next node: the result then has the status running
//
// Cancel asks to cancel the run, by [ledger.Ledger.Cancel]: contexts of nodes end,
// the branch gets a checkpoint of status cancelled, and no node that did not
// complete makes one. Tasks of a step that completed stay on record. It does not
// wait for that: see Done, which a node without a time limit delays if it ignores
// its context. Its error says that the request could not be put on record. A run
// that was cancelled has a result of that status and no error; one that was
// cancelled before it began is [posthouse.ErrCancelled]. Cancelling or draining
// again, or what has ended, does nothing.
type Handle[S any] = engine.Background[*Result[S]]

// Start is [App.Run] in the background: it returns once the thread is claimed,
// or, with OnBusy other than Reject or an id of its own, once the run has its
// place in line: then [posthouse.ErrBusy] comes with the result. Ending
// ctx ends the run as it does Run's.
func (a *App[S]) Start(ctx context.Context, thread string, input S, o ...RunOptions) (*Handle[S], error) {
	return a.front.Launch(ctx, thread, &input, o)
}

// ResumeStart is [App.Resume] in the background; see [App.Start].
func (a *App[S]) ResumeStart(ctx context.Context, thread string, o ...RunOptions) (*Handle[S], error) {
	return a.front.Launch(ctx, thread, nil, o)
}
