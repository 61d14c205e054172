package flow

import (
	"context"

	"github.com/posthouse/posthouse/internal/engine"
)

// A Handle is a run in the background. It is safe for concurrent use, and need not be
// kept. Its methods:
//
//	Done() <-chan struct{}                    // closed when the run has ended and given the thread back
//	Result() (*Result[Out], error)            // waits for the end, and returns what Run would have
//	Reason() Reason                           // how it ended, Running if it has not
//	Cancel(ctx context.Context, reason string) error
//	Drain()                                   // asks it to stop before its next step: the result then has the status running
//
// Cancel asks to cancel the run, by [ledger.Ledger.Cancel]: the contexts of the
// function and its steps end, no other step begins, and the branch gets a
// checkpoint of status cancelled. Steps that are done stay on record. Cancel does not
// wait for that; use Done. Its error says that the request could not be put on
// record. A cancelled run has a result of that status and no error, except one that was
// cancelled before it began: [posthouse.ErrCancelled]. Cancelling or draining again, or
// what has ended, does nothing.
type Handle[Out any] = engine.Background[*Result[Out]]

// Start is [App.Run] in the background. It returns once the thread is claimed. With
// OnBusy other than Reject, or an id of its own, it returns once the run has its place
// in line; [posthouse.ErrBusy] then comes with the result. With the id of a run that
// goes on in this process it waits for the end of that run and has its result. Ending ctx
// ends the run.
func (a *App[In, Out]) Start(ctx context.Context, thread string, in In, o ...RunOptions) (*Handle[Out], error) {
	return a.front.Launch(ctx, thread, &in, o)
}

// ResumeStart is [App.Resume] in the background; see [App.Start].
func (a *App[In, Out]) ResumeStart(ctx context.Context, thread string, o ...RunOptions) (*Handle[Out], error) {
	return a.front.Launch(ctx, thread, nil, o)
}
