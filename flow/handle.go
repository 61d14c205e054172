package flow

import (
	"context"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/runs"
)

// A Handle is a run in the background. It is safe for concurrent use, and need not be kept.
type Handle[Out any] struct {
	run *front.Handle[*Result[Out]]
}

// Done returns a channel that is closed when the run has ended and given the thread back.
func (h *Handle[Out]) Done() <-chan struct{} { return h.run.Done() }

// Result waits for the end, and returns what Run would have.
func (h *Handle[Out]) Result() (*Result[Out], error) { return h.run.Result() }

// Reason returns how the run ended, [runs.Running] if it has not. The record decides.
func (h *Handle[Out]) Reason() runs.Reason { return h.run.Reason() }

// Cancel asks to cancel the run, by [ledger.Ledger.Cancel]: the contexts of the
// function and its steps end, no other step begins, and the branch gets a
// checkpoint of status cancelled. Steps that are done stay on record. Cancel does not
// wait for that; use Done. Its error says that the request could not be put on
// record. A cancelled run has a result of that status and no error, except one that was
// cancelled before it began: [posthouse.ErrCancelled]. Cancelling again, or what has ended,
// does nothing.
func (h *Handle[Out]) Cancel(ctx context.Context, reason string) error {
	return h.run.Cancel(ctx, reason)
}

// Drain asks the run to stop before its next step: the result then has the status running.
// Draining again, or what has ended, does nothing.
func (h *Handle[Out]) Drain() { h.run.Drain() }

func handleOf[Out any](run *front.Handle[*Result[Out]], err error) (*Handle[Out], error) {
	if err != nil {
		return nil, err
	}
	return &Handle[Out]{run}, nil
}

// Start is [App.Run] in the background. It returns once the thread is claimed. With
// OnBusy other than Reject, or an id of its own, it returns once the run has its place
// in line; [posthouse.ErrBusy] then comes with the result. With the id of a run that
// goes on in this process it waits for the end of that run and has its result. Ending ctx
// ends the run.
func (a *App[In, Out]) Start(ctx context.Context, thread string, in In, o ...RunOptions) (*Handle[Out], error) {
	return handleOf(a.front.Start(ctx, thread, &in, o))
}

// ResumeStart is [App.Resume] in the background; see [App.Start].
func (a *App[In, Out]) ResumeStart(ctx context.Context, thread string, o ...RunOptions) (*Handle[Out], error) {
	return handleOf(a.front.Start(ctx, thread, nil, o))
}
