package flow

import (
	"cmp"
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// OnBusy says what a run does when another one has its thread. The other may
// be in this process or in another; a process that died has a thread until its
// lease is over.
type OnBusy = engine.OnBusy

// The strategies.
//
// Enqueue serves first come, first served within this process; behind a run of
// another process it looks again at least each second, and whoever looks first
// has the thread. A flow must not enqueue a run of its own thread: it would wait
// for itself.
//
// Interrupt and Rollback cancel the other run as [posthouse.Ledger.Cancel] does
// and wait until it has ended; a run of another process learns of it at its
// next commit. If the other ends by itself first, that stands. They are for
// calls with an input. Either way the new run is an execution of its own:
// Interrupt leaves [Previous] what the last execution that was done returned.
//
// Rollback then takes the branch back to what it was before the input of the
// cancelled run. History stays as it is: a checkpoint of kind update, whose
// Source is the earlier one, restores its state, and the new input follows it.
// What steps did to the world is not undone, and gates that the input had
// cancelled stay cancelled.
const (
	Reject    = engine.Reject    // fail with [posthouse.ErrBusy]
	Enqueue   = engine.Enqueue   // wait in line
	Interrupt = engine.Interrupt // cancel the other
	Rollback  = engine.Rollback  // cancel the other and go on from before its input
)

// duplicate returns the result of the execution that RunOptions.Run names, nil
// if the branch has none.
func (r *run[In, Out]) duplicate(ctx context.Context) (*Result[Out], error) {
	h := r.sess.Head()
	if h == nil {
		return nil, nil
	}
	if h.Run == r.opt.Run {
		r.opt.By = ""
		return r.resume(engine.Unsaid(ctx))
	}
	return r.app.past(ctx, h, r.opt.Run)
}

// past returns the result of an earlier execution of head's branch.
func (a *App[In, Out]) past(ctx context.Context, head *posthouse.Header, run string) (*Result[Out], error) {
	q := posthouse.Query{Thread: head.Thread, Branch: head.Branch, Descending: true}
	for h, err := range a.ledger.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if h.Run == run {
			return a.result(ctx, h.ID)
		}
	}
	return nil, nil
}

// running returns the result of an execution that somebody else runs, nil if
// that is not the one of opt.
func (a *App[In, Out]) running(ctx context.Context, thread string, opt RunOptions, cause error) *Result[Out] {
	res := &Result[Out]{
		Thread: cmp.Or(thread, posthouse.DefaultThread), Branch: cmp.Or(opt.Branch, posthouse.MainBranch), Run: opt.Run, Status: posthouse.StatusRunning,
	}
	info, err := a.ledger.Thread(ctx, res.Thread)
	if err == nil {
		if b, ok := info.Branch(res.Branch); ok {
			if h, err := a.ledger.GetHeader(ctx, b.Head); err == nil && h.Run == opt.Run && a.owns(h) == nil {
				res.Checkpoint = h.ID
				return res
			}
		}
	}
	var busy *posthouse.Error
	if errors.As(cause, &busy) && busy.Lease != nil && busy.Lease.Run == opt.Run {
		return res
	}
	return nil
}
