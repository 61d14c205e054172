package graph

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/runs"
)

// Run gives the thread an input and runs the graph from Start until it is done or
// parks. A new thread begins with the input as its state. An existing one merges the
// input into its head's state: append parts append, other parts replace unless they are
// zero ([App.Update] sets zero values). Where people are asked on the
// branch, the input is refused ([posthouse.ErrConflict], with Error.Gates), unless
// RunOptions.Withdraw is set: then their questions are cancelled.
//
// Run returns without an error if the run waits for a gate, was interrupted or was
// cancelled: see Result.Status. If the thread has a run of the same id (RunOptions.Run)
// already, nothing runs again. Run then returns the result of that one, waits for it if
// it goes on in this process, and continues it on behalf of its first sender if it was
// lost. Another input than it had is [posthouse.ErrExists].
//
// Errors are a [NodeError] (the thread is failed and can be resumed), a
// [RecursionError], [posthouse.ErrBusy] while somebody else runs the thread, the
// context's when it is cancelled (the thread is as it was before the node that was
// running, and can be resumed), or the Ledger's: then nothing after the last checkpoint
// happened.
func (a *App[S]) Run(ctx context.Context, thread string, in S, o ...RunOptions) (*Result[S], error) {
	res, err := a.core.front.Run(ctx, thread, &input{&in}, o)
	return typedResult[S](res), err
}

// Resume goes on from the head of the thread's branch: after an interrupt, or where a
// process died. A node that waited or failed runs again from its start, with its
// recorded steps. For a finished or cancelled thread Resume returns the state and runs
// nothing. A thread with only undecided gates keeps waiting. Resume fails with
// [posthouse.ErrNotFound] for an unknown thread; other errors are those of [App.Run].
func (a *App[S]) Resume(ctx context.Context, thread string, o ...RunOptions) (*Result[S], error) {
	res, err := a.core.front.Run(ctx, thread, nil, o)
	return typedResult[S](res), err
}

var _ posthouse.Program = (*App[struct{}])(nil)

// Advance is Resume for a runner, which knows only a [posthouse.Program].
func (a *App[S]) Advance(ctx context.Context, thread, branch string) error {
	return a.core.Advance(ctx, thread, branch)
}

// Replay runs again from a past checkpoint, on a new branch: later checkpoints stay
// where they are. Steps recorded after the checkpoint are computed again, and gates that
// were open at it are asked again under new ids. A replay that is refused, as by a
// [ChangedError], makes no branch.
func (a *App[S]) Replay(ctx context.Context, checkpoint posthouse.ID, o ...RunOptions) (*Result[S], error) {
	res, err := a.core.front.Replay(ctx, checkpoint, o)
	return typedResult[S](res), err
}

// CheckReplay returns why Replay of a checkpoint would be refused before it runs anything, nil
// if it would not. Servers ask before they fork. It writes nothing.
func (a *App[S]) CheckReplay(ctx context.Context, c *posthouse.Checkpoint) error {
	return a.core.CheckReplay(ctx, c)
}

// CheckState returns what is wrong with parts that somebody gives for the state of a
// checkpoint: a part that the state type does not have, or a value that does not fit it.
// It names the part, and what there is. Servers ask before they fork.
func (a *App[S]) CheckState(c *posthouse.Checkpoint, changed posthouse.State) error {
	return a.core.CheckState(c, changed)
}

// Describe implements [posthouse.Describer]: what the graph takes, keeps and says it asks. Package
// draw has its picture.
func (a *App[S]) Describe() *posthouse.ProgramInfo { return a.core.Describe() }

// StartJSON implements [posthouse.JSONStarter]. The input is S as JSON.
func (a *App[S]) StartJSON(ctx context.Context, thread string, input json.RawMessage, o *posthouse.StartOptions) (*posthouse.Header, error) {
	return a.core.StartJSON(ctx, thread, input, o)
}

// A Handle controls a run in the background. It is safe for concurrent use, and need not be
// kept.
type Handle[S any] struct {
	run *front.Handle[*Result[S]]
}

// Done returns a channel that is closed when the run has ended and given the thread back.
func (h *Handle[S]) Done() <-chan struct{} { return h.run.Done() }

// Result waits for the end, and returns what Run would have.
func (h *Handle[S]) Result() (*Result[S], error) { return h.run.Result() }

// Reason returns how the run ended, [runs.Running] if it has not. The record decides.
func (h *Handle[S]) Reason() runs.Reason { return h.run.Reason() }

// Cancel asks to cancel the run, by [ledger.Ledger.Cancel]. Contexts of nodes end, the
// branch gets a checkpoint of status cancelled, and no node that did not complete makes
// one. Tasks of a step that completed stay on record. Cancel does not wait; use Done.
// A node without a time limit that ignores its context delays Done. An error of Cancel
// means that the request is not on record. A run that was cancelled has a result of that
// status and no error; one that was cancelled before it began is
// [posthouse.ErrCancelled]. Cancelling again, or after the end, does nothing.
func (h *Handle[S]) Cancel(ctx context.Context, reason string) error {
	return h.run.Cancel(ctx, reason)
}

// Drain asks the run to stop before its next node: the result then has the status running.
// Draining again, or after the end, does nothing.
func (h *Handle[S]) Drain() { h.run.Drain() }

// Start is [App.Run] in the background. It returns once the thread is claimed. With
// OnBusy other than Reject, or an id that the caller gave, it returns once the run is in
// the queue; [posthouse.ErrBusy] then comes with the result. Ending ctx ends the run as
// it does Run's.
func (a *App[S]) Start(ctx context.Context, thread string, in S, o ...RunOptions) (*Handle[S], error) {
	return typedHandle[S](a.core.front.Start(ctx, thread, &input{&in}, o))
}

// ResumeStart is [App.Resume] in the background; see [App.Start].
func (a *App[S]) ResumeStart(ctx context.Context, thread string, o ...RunOptions) (*Handle[S], error) {
	return typedHandle[S](a.core.front.Start(ctx, thread, nil, o))
}

func typedHandle[S any](h *front.Handle[*result], err error) (*Handle[S], error) {
	if err != nil {
		return nil, err
	}
	return &Handle[S]{front.Typed(h, typedResult[S])}, nil
}
