package graph

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Cancelled commits what steps completed, then the cancelled checkpoint,
// and makes the result. Where nothing is on record, it says only that.
func (r *run[S]) Cancelled(ctx context.Context) (*Result[S], error) {
	ctx = context.WithoutCancel(ctx)
	if err := r.record.flush(ctx); err != nil && !errors.Is(err, posthouse.ErrCancelled) {
		return nil, err
	}
	began := r.app.ledger.Now()
	h, err := r.sess.FinishCancelled(ctx)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return &Result[S]{
			Thread: r.sess.Thread(), Branch: r.sess.Branch(), Run: r.sess.Run(), Status: posthouse.StatusCancelled,
		}, nil
	}
	if h.Status == posthouse.StatusCancelled {
		if err := r.cancelCalled(ctx); err != nil {
			return nil, err
		}
	}
	r.record.change.Node = h.Node
	r.report.checkpoint(began)
	s, err := r.app.State(ctx, r.sess.Thread(), StateOptions{Checkpoint: h.ID})
	if err != nil {
		return nil, err
	}
	return r.report.result(EventEnd, s.State, nil), nil
}

// cancelCalled cancels the threads of subgraphs that this run called: it did not
// come to wait for them on record.
func (r *run[S]) cancelCalled(ctx context.Context) error {
	var failed error
	for _, thread := range r.Called() {
		_, err := r.app.ledger.Cancel(ctx, thread, &ledger.CancelOptions{Reason: "thread " + r.sess.Thread() + ", which called it, was cancelled"})
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// CancelledLate returns the result of a branch that was cancelled once the run had parked.
func (r *run[S]) CancelledLate(_ context.Context, h *posthouse.Header, res *Result[S]) (*Result[S], error) {
	res.Checkpoint, res.Status, res.Next, res.Waiting = h.ID, h.Status, slices.Clone(h.Next), nil
	return res, nil
}
