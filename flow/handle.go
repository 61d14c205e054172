package flow

import (
	"cmp"
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
type Handle[Out any] struct {
	run *engine.Background[*Result[Out]]
}

// Start is [App.Run] in the background: it returns once the thread is claimed,
// or, with OnBusy other than Reject or an id of its own, once the run has its
// place in line: then [posthouse.ErrBusy] comes with the result. One with the id
// of a run that goes on in this process waits for that one's end, whose result
// it has. Ending ctx ends the run as it does Run's.
func (a *App[In, Out]) Start(ctx context.Context, thread string, in In, o ...RunOptions) (*Handle[Out], error) {
	return a.launch(ctx, thread, &in, o)
}

// ResumeStart is [App.Resume] in the background; see [App.Start].
func (a *App[In, Out]) ResumeStart(ctx context.Context, thread string, o ...RunOptions) (*Handle[Out], error) {
	return a.launch(ctx, thread, nil, o)
}

func (a *App[In, Out]) launch(ctx context.Context, thread string, in *In, o []RunOptions) (*Handle[Out], error) {
	opt, err := oneOption(o)
	if err != nil {
		return nil, err
	}
	if err := opt.validate(in != nil); err != nil {
		return nil, err
	}
	thread = cmp.Or(thread, posthouse.DefaultThread)
	run, err := engine.Launch(ctx, engine.BackgroundOptions[*Result[Out]]{
		Ledger: a.ledger, Thread: thread, Branch: opt.Branch, OnBusy: opt.OnBusy, Line: opt.OnBusy != Reject || opt.Run != "",
		Begin: func(ctx context.Context, place *ledger.Ticket) (*engine.Begun[*Result[Out]], error) {
			r, err := a.begin(ctx, thread, opt, nil, in != nil, place)
			if err != nil {
				return nil, err
			}
			return &engine.Begun[*Result[Out]]{Session: r.sess, Drive: func(ctx context.Context) (*Result[Out], error) { return a.drive(ctx, r, in) }}, nil
		},
		Cancelled: func(res *Result[Out]) bool { return res.Status == posthouse.StatusCancelled },
	})
	if err != nil {
		return nil, err
	}
	return &Handle[Out]{run}, nil
}

// Done returns a channel that is closed when the run has ended and given the
// thread back.
func (h *Handle[Out]) Done() <-chan struct{} { return h.run.Done() }

// Result waits for the end and returns what Run would have: a run that was
// cancelled has a result of that status and no error. One that was cancelled
// before it began is [posthouse.ErrCancelled].
func (h *Handle[Out]) Result() (*Result[Out], error) { return h.run.Result() }

// Reason returns how the run ended, Running if it has not.
func (h *Handle[Out]) Reason() Reason { return h.run.Reason() }

// Cancel asks to cancel the run, by [ledger.Ledger.Cancel]: the contexts of
// the function and its steps end, no other step begins, and the branch gets a
// checkpoint of status cancelled. Steps that are done stay on record. It does
// not wait for that: see Done. Cancelling again, or what has ended, does
// nothing. An error says that the request could not be put on record.
func (h *Handle[Out]) Cancel(ctx context.Context, reason string) error {
	return h.run.Cancel(ctx, reason)
}

// Drain asks the run to stop before its next step. Its result then has the
// status running, and [App.Resume] goes on. Draining again does nothing.
func (h *Handle[Out]) Drain() { h.run.Drain() }
