package graph

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// drive runs one call under its lease, and ends the branch if somebody asks to
// cancel it meanwhile.
func (a *App[S]) drive(ctx context.Context, r *run[S], input *S) (*Result[S], error) {
	defer r.sess.End(ctx) // for a panic of a codec
	inner, free := r.sess.WithCancel(ctx, nil)
	res, err := r.dispatch(inner, input)
	free()
	if err != nil && r.sess.Asked() && (r.sess.Err() == nil || errors.Is(r.sess.Err(), posthouse.ErrCancelled)) {
		res, err = r.finishCancelled(ctx)
	}
	if err != nil {
		err = r.releaseFailed(ctx, err)
	}
	if end := r.sess.End(ctx); end != nil {
		return nil, errors.Join(err, end)
	}
	if r.sess.Asked() && (res == nil || res.Status != posthouse.StatusDone && res.Status != posthouse.StatusCancelled) {
		return r.cancelLate(ctx, res, err)
	}
	return res, err
}

// move does what the call is for.
func (r *run[S]) dispatch(ctx context.Context, input *S) (*Result[S], error) {
	if input == nil {
		return r.resume(ctx)
	}
	if r.opt.Run != "" {
		if res, err := r.repeated(ctx, input); res != nil || err != nil {
			return res, err
		}
	}
	if r.opt.OnBusy == Rollback && r.sess.Displaced() {
		if err := r.rollBack(ctx); err != nil {
			return nil, err
		}
	}
	return r.start(ctx, input)
}

// finishCancelled commits what steps completed, then the cancelled checkpoint,
// and makes the result. Where nothing is on record, it says only that.
func (r *run[S]) finishCancelled(ctx context.Context) (*Result[S], error) {
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
	r.mu.Lock()
	called := slices.Clone(r.called)
	r.mu.Unlock()
	var failed error
	for _, thread := range called {
		_, err := r.app.ledger.Cancel(ctx, thread, &ledger.CancelOptions{Reason: "thread " + r.sess.Thread() + ", which called it, was cancelled"})
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// cancelLate ends a branch for a request that came while its run parked.
func (r *run[S]) cancelLate(ctx context.Context, res *Result[S], err error) (*Result[S], error) {
	h, e := r.sess.CancelLate(ctx)
	switch {
	case e != nil:
		return nil, errors.Join(err, e)
	case h != nil && res != nil && h.Status == posthouse.StatusCancelled:
		res.Checkpoint, res.Status, res.Next, res.Waiting = h.ID, h.Status, slices.Clone(h.Next), nil
	}
	return res, err
}
