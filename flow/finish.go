package flow

import (
	"context"
	"errors"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/internal/jsontype"
	"github.com/posthouse/posthouse/ledger"
)

// commitDone commits the output. Failed says why the output cannot be committed.
func (r *run[In, Out]) commitDone(ctx context.Context, task *engine.Task, out Out) (res *Result[Out], failed, err error) {
	v, err := posthouse.Encode(r.app.codec, out)
	if of := reflect.TypeFor[Out](); err == nil && v.Codec == posthouse.JSON.Name() && jsontype.HoldsInterface(of) {
		err = jsontype.Exact("output", of, v.Data)
	}
	if err != nil {
		return nil, err, nil
	}
	out, err = posthouse.Decode[Out](v, r.app.codec)
	if err != nil {
		return nil, err, nil
	}
	c := r.newChange(posthouse.KindNode, posthouse.StatusDone, r.app.node)
	c.Next, c.Parts = nil, []posthouse.Part{{Name: partOutput, Codec: v.Codec, Data: v.Data}}
	held := task.Records().Held()
	if _, err := r.sess.Commit(ctx, &ledger.Draft{Checkpoint: c, Steps: held}); err != nil {
		task.Records().ReturnHeld(held)
		if r.sess.Err() != nil {
			return nil, nil, err
		}
		return nil, err, nil
	}
	res = r.newResult(nil)
	res.Output = out
	return res, nil, nil
}

// commitFailure commits the failure of the function, and returns it. Its questions stay
// open.
func (r *run[In, Out]) commitFailure(ctx context.Context, task *engine.Task, cause error) error {
	e := &Error{Flow: r.app.name, Thread: r.sess.Thread(), Branch: r.sess.Branch(), Err: cause}
	c := r.newChange(posthouse.KindFail, posthouse.StatusFailed, r.app.node)
	if _, ok := errors.AsType[*engine.ChangedError](cause); ok {
		c.Status = posthouse.StatusInterrupted // an answer cannot help it; a person has to look
	}
	c.Error = engine.OneLine(cause.Error())
	if _, err := r.sess.Commit(ctx, &ledger.Draft{Checkpoint: c, Steps: task.Records().Held(), Keep: task.Gates().Undecided()}); err != nil {
		return errors.Join(e, err)
	}
	e.Checkpoint = r.sess.Head().ID
	return e
}

// leaveInterrupted commits what is done, so that the thread can be resumed.
func (r *run[In, Out]) leaveInterrupted(ctx context.Context, task *engine.Task) (*Result[Out], error) {
	if held := task.Records().Held(); len(held) > 0 {
		if _, err := r.sess.Commit(ctx, &ledger.Draft{Steps: held}); err != nil {
			return nil, err
		}
	}
	return r.newResult(nil), nil
}

// Cancelled ends the branch.
func (r *run[In, Out]) Cancelled(ctx context.Context) (*Result[Out], error) {
	began := r.app.ledger.Now()
	h, err := r.sess.Cancellation().Finish(ctx)
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

// CancelledLate returns the result of a branch that was cancelled once the run had parked.
func (r *run[In, Out]) CancelledLate(ctx context.Context, h *posthouse.Header, _ *Result[Out]) (*Result[Out], error) {
	return r.app.result(ctx, h.ID)
}

// RollBack restores the branch to what it was before its last input.
func (r *run[In, Out]) RollBack(ctx context.Context) error {
	_, err := front.RollBack(ctx, r.sess, &posthouse.Change{Run: r.id, Graph: r.app.name, By: r.opt.By})
	return err
}

func (r *run[In, Out]) park(ctx context.Context, task *engine.Task) (res *Result[Out], again bool, err error) {
	if err := task.Gates().Changed(); err != nil {
		return nil, false, r.commitFailure(ctx, task, err)
	}
	asked, held, stale := task.Gates().New(), task.Records().Held(), task.Gates().Stale()
	asks := len(asked)+len(held)+len(stale) > 0
	if !asks {
		parked, err := r.sess.Parked(ctx)
		if err != nil {
			return nil, false, err
		}
		asks = !parked
	}
	var waiting []posthouse.Gate
	for _, g := range task.Gates().Open() {
		waiting = append(waiting, *g)
	}
	if asks {
		done, err := r.sess.Commit(ctx, &ledger.Draft{
			Checkpoint: r.newChange(posthouse.KindWait, posthouse.StatusWaiting, r.app.node), Gates: asked, Keep: task.Gates().Pending(), Steps: held,
		})
		switch {
		case r.sess.Err() != nil:
			return nil, false, err
		case err != nil:
			task.Records().ReturnHeld(held)
			return nil, false, r.commitFailure(ctx, task, err)
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
	if due := r.sess.TimerSoon(waiting); !due.IsZero() {
		again, err = engine.WaitOrDrain(ctx, r.app.ledger, due)
		if err != nil {
			return nil, false, err
		}
	}
	return r.newResult(waiting), again, nil
}
