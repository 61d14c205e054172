package graph

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
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
// use, and need not be kept.
type Handle[S any] struct {
	run *engine.Background[*Result[S]]
}

// Start is [App.Run] in the background: it returns once the thread is claimed,
// or, with OnBusy other than Reject or an id of its own, once the run has its
// place in line: then [posthouse.ErrBusy] comes with the result. Ending
// ctx ends the run as it does Run's.
func (a *App[S]) Start(ctx context.Context, thread string, input S, o ...RunOptions) (*Handle[S], error) {
	return a.launch(ctx, thread, &input, o)
}

// ResumeStart is [App.Resume] in the background; see [App.Start].
func (a *App[S]) ResumeStart(ctx context.Context, thread string, o ...RunOptions) (*Handle[S], error) {
	return a.launch(ctx, thread, nil, o)
}

func (a *App[S]) launch(ctx context.Context, thread string, input *S, o []RunOptions) (*Handle[S], error) {
	opt, err := oneOption(o)
	if err != nil {
		return nil, err
	}
	if err := opt.validate(input != nil); err != nil {
		return nil, err
	}
	if thread == "" {
		thread = posthouse.DefaultThread
	}
	run, err := engine.Launch(ctx, engine.BackgroundOptions[*Result[S]]{
		Ledger: a.ledger, Thread: thread, Branch: opt.Branch, OnBusy: opt.OnBusy, Line: opt.OnBusy != Reject || opt.Run != "",
		Begin: func(ctx context.Context, place *ledger.Ticket) (*engine.Begun[*Result[S]], error) {
			r, err := a.begin(ctx, thread, opt, nil, input != nil, place)
			if err != nil {
				return nil, err
			}
			return &engine.Begun[*Result[S]]{Session: r.sess, Drive: func(ctx context.Context) (*Result[S], error) { return a.drive(ctx, r, input) }}, nil
		},
		Cancelled: func(res *Result[S]) bool { return res.Status == posthouse.StatusCancelled },
	})
	if err != nil {
		return nil, err
	}
	return &Handle[S]{run}, nil
}

// Done returns a channel that is closed when the run has ended and given the
// thread back.
func (h *Handle[S]) Done() <-chan struct{} { return h.run.Done() }

// Result waits for the end and returns what Run would have: a run that was
// cancelled has a result of that status and no error. One that was cancelled
// before it began is [posthouse.ErrCancelled].
func (h *Handle[S]) Result() (*Result[S], error) { return h.run.Result() }

// Reason returns how the run ended, Running if it has not.
func (h *Handle[S]) Reason() Reason { return h.run.Reason() }

// Cancel asks to cancel the run, by [ledger.Ledger.Cancel]: contexts of nodes
// end, the branch gets a checkpoint of status cancelled, and no node that did
// not complete makes one. Tasks of a step that completed stay on record. It does
// not wait for that: see Done, which a node holds up that does not heed its
// context and has no time limit. Cancelling again, or what has ended, does
// nothing. An error says that the request could not be put on record.
func (h *Handle[S]) Cancel(ctx context.Context, reason string) error {
	return h.run.Cancel(ctx, reason)
}

// Drain asks the run to stop before its next node. Its result then has the
// status running, and [App.Resume] goes on. Draining again does nothing.
func (h *Handle[S]) Drain() { h.run.Drain() }
