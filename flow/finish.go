package flow

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// commitDone commits the output. The second result is why it cannot be.
func (r *run[In, Out]) commitDone(ctx context.Context, task *engine.Task, out Out) (res *Result[Out], failed, err error) {
	v, err := posthouse.Encode(r.app.codec, out)
	if of := reflect.TypeFor[Out](); err == nil && v.Codec == posthouse.JSON.Name() && engine.HoldsInterface(of) {
		err = engine.Exact("output", of, v.Data)
	}
	if err != nil {
		return nil, err, nil
	}
	if out, err = posthouse.Decode[Out](v, r.app.codec); err != nil {
		return nil, err, nil
	}
	c := r.newChange(posthouse.KindNode, posthouse.StatusDone, r.app.node)
	c.Next, c.Parts = nil, []posthouse.Part{{Name: partOutput, Codec: v.Codec, Data: v.Data}}
	held := task.Records().Held()
	if _, err := r.sess.Commit(ctx, &ledger.Draft{Checkpoint: c, Steps: held}); err != nil {
		task.Records().ReturnHeld(held)
		switch {
		case errors.Is(err, posthouse.ErrCancelled):
			res, err = r.finishCancelled(ctx)
			return res, nil, err
		case r.sess.Err() != nil:
			return nil, nil, err
		}
		return nil, err, nil
	}
	res = r.newResult(nil)
	res.Output = out
	return res, nil, nil
}

// commitFailure commits why the function failed. What it asked before stays open. There
// is a result only of a run that was found to be cancelled.
func (r *run[In, Out]) commitFailure(ctx context.Context, task *engine.Task, cause error) (*Result[Out], error) {
	e := &Error{Flow: r.app.name, Thread: r.sess.Thread(), Branch: r.sess.Branch(), Err: cause}
	c := r.newChange(posthouse.KindFail, posthouse.StatusFailed, r.app.node)
	if _, ok := errors.AsType[*engine.ChangedError](cause); ok {
		c.Status = posthouse.StatusInterrupted // an answer cannot help it; a person has to look
	}
	c.Error = oneLine(cause.Error())
	if _, err := r.sess.Commit(ctx, &ledger.Draft{Checkpoint: c, Steps: task.Records().Held(), Keep: task.Gates().Undecided()}); err != nil {
		if errors.Is(err, posthouse.ErrCancelled) {
			return r.finishCancelled(ctx)
		}
		return nil, errors.Join(e, err)
	}
	e.Checkpoint = r.sess.Head().ID
	return nil, e
}

// leaveInterrupted keeps what is done and lets the thread be resumed.
func (r *run[In, Out]) leaveInterrupted(ctx context.Context, task *engine.Task) (*Result[Out], error) {
	if held := task.Records().Held(); len(held) > 0 {
		if _, err := r.sess.Commit(ctx, &ledger.Draft{Steps: held}); err != nil {
			return nil, err
		}
	}
	return r.newResult(nil), nil
}

// finishCancelled ends the branch.
func (r *run[In, Out]) finishCancelled(ctx context.Context) (*Result[Out], error) {
	began := r.app.ledger.Now()
	h, err := r.sess.FinishCancelled(ctx)
	switch {
	case err != nil:
		return nil, err
	case h == nil:
		return &Result[Out]{Thread: r.sess.Thread(), Branch: r.sess.Branch(), Run: r.id, Status: posthouse.StatusCancelled}, nil
	}
	if r.hub != nil {
		r.reportCheckpoint(began)
	}
	return r.app.result(context.WithoutCancel(ctx), h.ID)
}

// cancelLate ends the branch for a request that came while the run parked.
func (r *run[In, Out]) cancelLate(ctx context.Context, res *Result[Out], err error) (*Result[Out], error) {
	h, e := r.sess.CancelLate(ctx)
	switch {
	case e != nil:
		return nil, errors.Join(err, e)
	case h != nil && res != nil && h.Status == posthouse.StatusCancelled:
		return r.app.result(context.WithoutCancel(ctx), h.ID)
	}
	return res, err
}

// park commits what the function waits for.
func (r *run[In, Out]) park(ctx context.Context, task *engine.Task) (res *Result[Out], again bool, err error) {
	if err := task.Gates().Changed(); err != nil {
		res, err = r.commitFailure(ctx, task, err)
		return res, false, err
	}
	asked, held, stale := task.Gates().New(), task.Records().Held(), task.Gates().Stale()
	parked, err := r.isParked(ctx)
	if err != nil {
		return nil, false, err
	}
	var waiting []posthouse.Gate
	for _, g := range task.Gates().Open() {
		waiting = append(waiting, *g)
	}
	if len(asked)+len(held)+len(stale) > 0 || !parked {
		done, err := r.sess.Commit(ctx, &ledger.Draft{
			Checkpoint: r.newChange(posthouse.KindWait, posthouse.StatusWaiting, r.app.node), Gates: asked, Keep: task.Gates().Pending(), Steps: held,
		})
		switch {
		case errors.Is(err, posthouse.ErrCancelled):
			res, err = r.finishCancelled(ctx)
			return res, false, err
		case r.sess.Err() != nil:
			return nil, false, err
		case err != nil:
			task.Records().ReturnHeld(held)
			res, err = r.commitFailure(ctx, task, err)
			return res, false, err
		}
		for _, g := range done.Gates {
			if g.Decision == nil {
				waiting = append(waiting, g)
			}
		}
	}
	if r.sess.Head().Status == posthouse.StatusReady {
		return r.newResult(nil), !engine.Draining(ctx), nil
	}
	if due := r.timerSoon(waiting); !due.IsZero() {
		return r.waitForTimer(ctx, due, waiting)
	}
	return r.newResult(waiting), false, nil
}

// isParked reports whether the branch waits already.
func (r *run[In, Out]) isParked(ctx context.Context) (bool, error) {
	info, err := r.app.ledger.Thread(ctx, r.sess.Thread())
	if err != nil {
		return false, err
	}
	b, _ := info.Branch(r.sess.Branch())
	return b.Status == posthouse.StatusWaiting, nil
}

// stillUndecided returns the result of resuming a branch none of whose waits is
// over: the function would only wait again.
func (r *run[In, Out]) stillUndecided(ctx context.Context) (*Result[Out], error) {
	if parked, err := r.isParked(ctx); !parked || err != nil {
		return nil, err
	}
	var waiting []posthouse.Gate
	for g, err := range r.app.ledger.Gates(ctx, ledger.GateQuery{Thread: r.sess.Thread(), All: true}) {
		switch {
		case err != nil:
			return nil, err
		case g.Branch != r.sess.Branch():
		case !g.ExpiresAt.IsZero() && !r.app.ledger.Now().Before(g.ExpiresAt):
			return nil, nil
		default:
			waiting = append(waiting, *g)
		}
	}
	if len(waiting) == 0 || !r.timerSoon(waiting).IsZero() {
		return nil, nil
	}
	return r.newResult(waiting), nil
}

// waitForTimer waits in this process for a time that is near.
func (r *run[In, Out]) waitForTimer(ctx context.Context, due time.Time, waiting []posthouse.Gate) (res *Result[Out], again bool, err error) {
	inner, free := r.sess.WithCancel(ctx, nil)
	come, err := engine.WaitOrDrain(inner, r.app.ledger, due)
	free()
	switch {
	case r.sess.Asked():
		res, err = r.finishCancelled(ctx)
		return res, false, err
	case err != nil:
		return nil, false, err
	}
	return r.newResult(waiting), come, nil
}
