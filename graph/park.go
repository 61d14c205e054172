package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

func (r *run) repeatStep(ctx context.Context) error {
	r.sess.Record().Refresh()
	r.budget.steps-- // the step is the same
	return r.load(ctx)
}

// park ends a run with the state that it has now.
func (r *run) park(ctx context.Context) (*result, error) {
	if err := r.record.flush(ctx); err != nil {
		return nil, err
	}
	return r.result(runs.EventPark, r.live.Value, nil), nil
}

// parkedWith is parkedResult with a note.
func (r *run) parkedWith(ctx context.Context, waiting []posthouse.Gate, note string) (*result, error) {
	res, err := r.parkedResult(ctx, waiting)
	if res != nil {
		res.Note = note
	}
	return res, err
}

// parkedResult ends a run with the state of its waiting head.
func (r *run) parkedResult(ctx context.Context, waiting []posthouse.Gate) (*result, error) {
	c, err := r.readHead(ctx)
	if err != nil {
		return nil, err
	}
	s, err := r.app.newSnapshot(c)
	if err != nil {
		return nil, err
	}
	return r.result(runs.EventPark, s.State, waiting), nil
}

// commitFailure commits a failed checkpoint with the state from before the step, and
// returns the failure. Questions of the step's tasks stay open, since some tasks may not
// have run to ask them again.
func (r *run) commitFailure(ctx context.Context, node string, held []posthouse.Step, cause error) error {
	e := &NodeError{
		Graph: r.app.name, Thread: r.sess.Thread(), Branch: r.sess.Branch(), Node: frontier.UnescapeName(node), Err: cause,
	}
	if r.subrun != nil { // the node around it fails, and says so on record
		if err := r.record.flush(ctx); err != nil {
			return errors.Join(e, err)
		}
		return e
	}
	status := posthouse.StatusFailed
	if _, ok := errors.AsType[*engine.ChangedError](cause); ok {
		status = posthouse.StatusInterrupted // an answer cannot help it; a person has to look
	}
	r.record.newChange(posthouse.KindFail, status, node).Error = engine.OneLine(cause.Error())
	if _, err := r.record.commit(ctx, &ledger.Draft{Steps: held, KeepOpen: true}); err != nil {
		return errors.Join(e, err)
	}
	e.Checkpoint = r.sess.Head().ID
	return e
}

// causes returns why tasks failed: one error, or all of them with the titles of their
// tasks.
func causes(failed []*outcome) error {
	if len(failed) == 1 && failed[0].task.Input == nil {
		return failed[0].err
	}
	errs := make([]error, len(failed))
	for i, o := range failed {
		errs[i] = fmt.Errorf("%s: %w", o.task.title(), o.err)
	}
	return errors.Join(errs...)
}

// Cancelled commits what steps completed, then the cancelled checkpoint, and returns the
// result. If nothing is on record the result has only the status.
func (r *run) Cancelled(ctx context.Context) (*result, error) {
	ctx = context.WithoutCancel(ctx)
	if err := r.record.flush(ctx); err != nil && !errors.Is(err, posthouse.ErrCancelled) {
		return nil, err
	}
	began := r.app.ledger.Now()
	h, err := r.sess.Cancellation().Finish(ctx)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return &result{
			Thread: r.sess.Thread(), Branch: r.sess.Branch(), Run: r.sess.Run(), Status: posthouse.StatusCancelled,
		}, nil
	}
	if h.Status == posthouse.StatusCancelled {
		if err := r.cancelCalled(ctx); err != nil {
			return nil, err
		}
	}
	r.record.change.Node = h.Node
	r.report.Checkpoint(h.Node, began)
	s, err := r.app.state(ctx, r.sess.Thread(), h.ID)
	if err != nil {
		return nil, err
	}
	return r.result(runs.EventEnd, s.State, nil), nil
}

// cancelCalled cancels the threads of subgraphs that this run called. No gate on record
// waits for them yet.
func (r *run) cancelCalled(ctx context.Context) error {
	var failed error
	for _, thread := range r.Called() {
		_, err := r.app.ledger.Cancel(ctx, thread, &ledger.CancelOptions{Reason: "thread " + r.sess.Thread() + ", which called it, was cancelled"})
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// CancelledLate returns the result of a branch that was cancelled after the run parked.
func (r *run) CancelledLate(_ context.Context, h *posthouse.Header, res *result) (*result, error) {
	res.Checkpoint, res.Status, res.Next, res.Waiting = h.ID, h.Status, slices.Clone(h.Next), nil
	return res, nil
}
