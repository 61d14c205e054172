package flow

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/ledger"
)

// A run is one call over one branch.
type run[In, Out any] struct {
	app  *App[In, Out]
	sess *session.Session
	opt  RunOptions
	id   string      // of the execution, which may have begun in an earlier call
	key  string      // of the execution's steps
	hub  *stream.Hub // nil without readers

	data     posthouse.Value // the input
	previous posthouse.Value
	passes   int         // how often the function was executed
	began    time.Time   // the last time, if somebody reads that along
	started  time.Time   // the last time
	stopped  atomic.Bool // a step was refused because the program drains
}

// newRun returns the run of a session; h is nil without readers.
func (a *App[In, Out]) newRun(s *session.Session, o *RunOptions, h *stream.Hub) front.Run[In, Result[Out]] {
	r := &run[In, Out]{app: a, sess: s, opt: *o, id: s.Run(), hub: h}
	if h != nil {
		s.OnCommit(r.reportCommit)
	}
	return r
}

// Start puts the input on record and executes the function.
func (r *run[In, Out]) Start(ctx context.Context, in *In) (*Result[Out], error) {
	v, err := posthouse.Encode(r.app.codec, *in)
	if err != nil {
		return nil, err
	}
	var program posthouse.State
	if h := r.sess.Head(); h != nil {
		c, err := ledger.GetOf(ctx, r.app.ledger, h)
		if err != nil {
			return nil, err
		}
		r.previous, program = c.State[partOutput], c.Program
	}
	c := r.newChange(posthouse.KindInput, posthouse.StatusRunning, "")
	c.By, c.Coordination, c.Labels = r.opt.By, r.opt.Coordination, r.opt.Labels
	c.Program, err = engine.SentBy(ctx, cmp.Or(r.opt.By, engine.Principal(ctx)), program)
	if err != nil {
		return nil, err
	}
	c.Parts = []posthouse.Part{{Name: partInput, Codec: v.Codec, Data: v.Data}}
	r.data = v
	if _, err := r.sess.Commit(ctx, &ledger.Draft{Checkpoint: c}); err != nil {
		return nil, err
	}
	ctx, err = engine.OnBehalf(ctx, r.opt.By, nil)
	if err != nil {
		return nil, err
	}
	return r.loop(ctx, true)
}

// Resume executes the function again.
func (r *run[In, Out]) Resume(ctx context.Context) (*Result[Out], error) {
	h := r.sess.Head()
	if h == nil {
		return nil, engine.UnknownThread(r.sess.Thread(), r.sess.Branch())
	}
	if h.Run != "" {
		r.id = h.Run
	}
	switch h.Status {
	case posthouse.StatusDone, posthouse.StatusCancelled:
		return r.app.result(ctx, h.ID)
	case posthouse.StatusWaiting:
		if waiting, err := r.sess.Undecided(ctx); len(waiting) > 0 || err != nil {
			return r.newResult(waiting), err
		}
	}
	c, err := ledger.GetOf(ctx, r.app.ledger, h)
	if err != nil {
		return nil, err
	}
	if err := r.app.hasInput(c); err != nil {
		return nil, err
	}
	r.data, r.previous = c.State[partInput], c.State[partOutput]
	ctx, err = engine.OnBehalf(ctx, r.opt.By, c.Program)
	if err != nil {
		return nil, err
	}
	return r.loop(ctx, false)
}

// hasInput refuses a checkpoint without an input of the flow.
func (a *App[In, Out]) hasInput(c *posthouse.Checkpoint) error {
	if _, ok := c.State[partInput]; ok && c.Graph == a.name {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "thread", Message: "checkpoint " + string(c.ID) + " has no input of flow " + a.name,
		Hint: "run the thread with an input",
	}
}

// fits returns why the function cannot be executed from a past checkpoint.
func (a *App[In, Out]) fits(_ context.Context, c *posthouse.Checkpoint) error {
	if posthouse.IsOver(c.Status) {
		return nil
	}
	if err := a.hasInput(c); err != nil {
		return err
	}
	_, err := posthouse.Decode[In](c.State[partInput], a.codec)
	return err
}

// loop executes the function until it ends, or waits for something that the run does not
// wait for itself.
func (r *run[In, Out]) loop(ctx context.Context, fresh bool) (*Result[Out], error) {
	r.key = r.sess.Key(r.app.name)
	for {
		if engine.Draining(ctx) {
			return r.newResult(nil), nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		res, again, err := r.execute(ctx, fresh)
		if !again {
			return res, err
		}
		r.sess.Record().Refresh()
		fresh = false
	}
}

func (r *run[In, Out]) execute(ctx context.Context, fresh bool) (res *Result[Out], again bool, err error) {
	task, err := engine.TaskWithKey(ctx, r.sess, r.key, fresh)
	if err != nil {
		return nil, false, err
	}
	in, err := posthouse.Decode[In](r.data, r.app.codec)
	if err != nil {
		return nil, false, err
	}
	task.Before(r.beforeStep)
	task.Steps(&r.app.steps)
	if !r.app.few {
		r.sess.OnDraft(func(d *ledger.Draft) { r.addToDraft(task, d) })
	}
	r.passes++
	r.reportStart(task)
	if err := r.sess.Lease().Confirm(ctx); err != nil {
		return nil, false, err
	}
	r.started = r.app.ledger.Now()
	out, failed := r.callFunction(ctx, task, in)
	r.sess.OnDraft(nil)
	task.Close()
	if err := task.Records().Disorder(failed == nil && !task.Waiting()); err != nil {
		failed = err
	} else if !task.Waiting() {
		failed, _ = task.Records().EndedBy(failed)
	}
	r.reportOutcome(ctx, task, failed)
	switch {
	case r.sess.Err() != nil:
		return nil, false, session.WithCause(r.sess.Err(), failed)
	case r.sess.Cancellation().Asked() && (failed != nil || task.Waiting()):
		return nil, false, session.WithCause(posthouse.ErrCancelled, failed)
	case task.Waiting() && !isOrder(failed):
		note := ""
		if failed == nil {
			note = task.Gates().Swallowed("flow "+strconv.Quote(r.app.name), "its output is dropped, and it is executed again then")
		}
		res, again, err = r.park(ctx, task)
		if res != nil && !again {
			res.Note = note
		}
		return res, again, err
	case errors.Is(failed, posthouse.ErrWaiting):
		failed = posthouse.Invalid("flow", "%q returned ErrWaiting, but nothing in it waits", r.app.name)
	case r.stopped.Load():
		res, err = r.leaveInterrupted(ctx, task)
		return res, false, err
	case failed != nil && ctx.Err() != nil:
		_, err = r.leaveInterrupted(ctx, task)
		return nil, false, errors.Join(session.WithCause(context.Cause(ctx), failed), err)
	}
	if failed == nil {
		res, failed, err = r.commitDone(ctx, task, out)
		if failed == nil {
			return res, false, err
		}
	}
	return nil, false, r.commitFailure(ctx, task, failed)
}

func (r *run[In, Out]) callFunction(ctx context.Context, task *engine.Task, in In) (out Out, err error) {
	if em := r.emitter(); em != nil {
		defer em.Close()
		ctx = em.With(ctx)
	}
	ctx = context.WithValue(task.With(ctx), previousKey{}, &previous{r.previous, r.app.codec})
	err = engine.Guard(func() (err error) { out, err = r.app.fn(ctx, in); return err })
	return out, err
}

// beforeStep refuses steps that are not on record once the run is to stop.
func (r *run[In, Out]) beforeStep(ctx context.Context) error {
	if engine.Draining(ctx) {
		r.stopped.Store(true)
		return errStopped
	}
	return nil
}

// newChange makes a checkpoint that goes on with the function.
func (r *run[In, Out]) newChange(kind string, status posthouse.Status, node string) *posthouse.Change {
	c := &posthouse.Change{Kind: kind, Status: status, Run: r.id, Graph: r.app.name, Node: node, Next: []string{r.app.name}}
	if node == r.app.node {
		c.Story = posthouse.Story{Took: r.app.ledger.Now().Sub(r.started), Attempts: 1}
	}
	return c
}

// addToDraft gives a step's result a checkpoint: history shows it, and a fork can begin
// after it.
func (r *run[In, Out]) addToDraft(task *engine.Task, d *ledger.Draft) {
	if name := task.Records().Completed(d.Steps); name != "" {
		d.Checkpoint = r.newChange(posthouse.KindEvent, posthouse.StatusRunning, name)
		step := &d.Steps[len(d.Steps)-1].Story
		d.Checkpoint.Story = posthouse.Story{Took: step.Took, Attempts: step.Attempts}
		d.Keep = task.Gates().Undecided()
	}
}

// newResult says where the branch stands. A branch that waited and came further since,
// without a checkpoint, is running.
func (r *run[In, Out]) newResult(waiting []posthouse.Gate) *Result[Out] {
	h := r.sess.Head()
	res := &Result[Out]{
		Thread: h.Thread, Branch: h.Branch, Run: r.id, Checkpoint: h.ID, Status: h.Status, Waiting: waiting, Error: h.Error,
	}
	if res.Status == posthouse.StatusWaiting && len(waiting) == 0 {
		res.Status = posthouse.StatusRunning
	}
	return res
}
