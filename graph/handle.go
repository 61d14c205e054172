package graph

import (
	"context"

	"github.com/posthouse/posthouse/internal/engine"
)

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
