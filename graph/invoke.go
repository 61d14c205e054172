package graph

import (
	"context"

	"github.com/posthouse/posthouse"
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
