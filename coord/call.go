package coord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// Call asks the agent for a skill and returns its result. On re-execution the
// recorded result of the same call is returned and the agent does not run.
//
// Args is encoded as JSON; nil sends nothing. If the agent fails or panics, Call returns a
// Result without Success, and with the reason in its Text. The failure is recorded once
// the handler calls, steps or asks again, and then answered from the record like a
// success. A request that ends with the failure has failed, and runs the agent again when
// it is resumed.
//
// The handler must return an error: [posthouse.ErrWaiting] if the agent asked something,
// the cause of a cancelled ctx, a save that failed, or [posthouse.ErrNotFound] for an
// agent or skill that is not in the fleet.
func (a *AgentRef) Call(ctx context.Context, skill string, args any) (Result, error) {
	return a.CallWith(ctx, skill, args, nil)
}

// CallWith is [AgentRef.Call] with options. A cancelled call has failed: the agent's ctx
// ends, and its result does not count.
func (a *AgentRef) CallWith(ctx context.Context, skill string, args any, o *CallOptions) (Result, error) {
	f, err := handlerFrame(ctx)
	if err != nil {
		return Result{}, err
	}
	fn, err := a.skill(skill)
	if err != nil {
		return Result{}, err
	}
	c := Call{Agent: a.name, Skill: skill, By: f.run.req.By}
	if args != nil {
		c.Args, err = posthouse.JSON.Marshal(args)
		if err != nil {
			return Result{}, err
		}
	}
	rec, ok := f.run.task.Records().Recorded(f.run.task.Scoped(ctx, stepOf(a.name, skill)))
	if ok {
		return posthouse.Decode[Result](rec.Value)
	}
	return f.run.call(ctx, fn, c, rec.Step, o)
}

// errStopped unwinds a handler when its process shuts down.
var errStopped = errors.New("coord: the process is shutting down; the request goes on when it is resumed")

// call runs a skill for the first time, or again after it failed or crashed.
func (r *run) call(ctx context.Context, fn Skill, c Call, step posthouse.Step, o *CallOptions) (Result, error) {
	if err := r.mayCall(ctx); err != nil {
		return Result{}, err
	}
	sent := r.event(AgentDispatched, frameFrom(ctx).cause)
	sent.Agent, sent.Skill, sent.Args, sent.By = c.Agent, c.Skill, c.Args, c.By
	if err := r.emit(ctx, sent, nil); err != nil {
		return Result{}, err
	}
	if err := r.flushDue(ctx); err != nil {
		return Result{}, err
	}
	if err := r.task.PersistClaim(ctx); err != nil {
		return Result{}, err
	}
	waited := r.task.Waiting()
	own, story := r.task.Told(ctx, step.Name, step.Occurrence)
	sub := (&frame{run: r, agent: c.Agent, cause: sent.ID}).with(own)
	sub, over := r.sess.Lease().WhileHeld(sub)
	res, cancelled, err := o.run(sub, fn, c)
	err = over(err)
	switch broken := r.sessionError(); {
	case broken != nil:
		return Result{}, broken
	case errors.Is(err, posthouse.ErrWaiting):
		return Result{}, err
	case !waited && r.task.Waiting():
		return Result{}, posthouse.ErrWaiting
	case errors.Is(err, errStopped):
		return Result{}, err
	case err != nil && ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case cancelled:
		err = errCallCancelled
	}
	step.Story = story()
	return r.recordAnswer(ctx, sent, step, res, err)
}

func (r *run) mayCall(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if engine.Draining(ctx) {
		r.mu.Lock()
		r.stopped = true
		r.mu.Unlock()
		return errStopped
	}
	return r.sessionError()
}

// recordAnswer emits the outcome of a call and holds its result.
func (r *run) recordAnswer(ctx context.Context, sent Event, step posthouse.Step, res Result, failed error) (Result, error) {
	res.Success = failed == nil
	if failed != nil {
		res = Result{Text: strings.ToValidUTF8(failed.Error(), "\uFFFD")}
	}
	var err error
	step.Value, err = posthouse.Encode(nil, res)
	if err != nil {
		return r.recordAnswer(ctx, sent, step, Result{}, errors.New("the agent's answer is not valid: "+strings.ToValidUTF8(err.Error(), "\uFFFD")))
	}
	outcome := OutcomeCompleted
	if failed != nil {
		outcome = OutcomeFailed
	}
	if err := r.recordOutcome(ctx, sent, outcome); err != nil {
		return Result{}, err
	}
	e := r.event(AgentCompleted, sent.ID)
	e.Agent, e.Skill, e.By, e.ElapsedMS = sent.Agent, sent.Skill, sent.By, r.elapsed(sent.At)
	if failed != nil {
		e.Kind, e.Error, e.Args = AgentFailed, res.Text, sent.Args
	} else {
		e.Text, e.Data = res.Text, res.Data
	}
	if err := r.emit(ctx, e, &completion{step: step, fail: failed != nil}); err != nil {
		return Result{}, err
	}
	r.mu.Lock()
	r.due, r.failure = true, e.Error
	r.mu.Unlock()
	return res, nil
}

func (r *run) recordOutcome(ctx context.Context, sent Event, outcome string) error {
	e := r.event(CommitmentRecorded, sent.ID)
	e.Agent = sent.Agent
	e.Commitment = &Commitment{
		Issuer: "coordinator:" + r.c.name, Principal: r.req.By, Subject: sent.Agent, Scope: sent.Skill, Outcome: outcome,
	}
	return r.emit(ctx, e, nil)
}

// Emit records an event of a handler or agent: AgentEvaluated, AgentHandoff,
// RouteEvaluated, AgentActivityChanged or CircuitStateChanged, with the fields
// that belong to its kind. The others are filled in, Agent and Cause unless set.
// It returns the event's id, to be the Cause of another. A handler that is
// executed again does not record its events again.
func Emit(ctx context.Context, e Event) (posthouse.ID, error) {
	f, err := handlerFrame(ctx)
	if err != nil {
		return "", err
	}
	switch e.Kind {
	case AgentEvaluated, AgentHandoff, RouteEvaluated, AgentActivityChanged, CircuitStateChanged:
	default:
		return "", posthouse.Invalid("kind", "%q is not one that handlers and agents emit", e.Kind)
	}
	if len(e.Data) > 0 && !json.Valid(e.Data) {
		return "", posthouse.Invalid("data", "is not JSON")
	}
	rec, ok := f.run.task.Records().Recorded(f.run.task.Scoped(ctx, stepEmit))
	if ok {
		return posthouse.Decode[posthouse.ID](rec.Value)
	}
	own := f.run.event(e.Kind, cmp.Or(e.Cause, f.cause))
	own.Agent = cmp.Or(e.Agent, f.agent)
	own.Skill, own.To, own.By, own.Args, own.Text, own.Data, own.Error, own.ElapsedMS =
		e.Skill, e.To, e.By, e.Args, e.Text, e.Data, e.Error, e.ElapsedMS
	rec.Value, err = posthouse.Encode(nil, own.ID)
	if err != nil {
		return "", err
	}
	return own.ID, f.run.emit(ctx, own, &completion{step: rec.Step})
}

// Resumed returns the checkpoint that this execution continues, with its state. The state of
// a fork may have been edited. It is nil on a request's first execution.
func (f *Fleet) Resumed(ctx context.Context) (*posthouse.Checkpoint, error) {
	fr, err := handlerFrame(ctx)
	if err != nil || fr.run.resumed == nil {
		return nil, err
	}
	c, err := fr.run.c.ledger.Get(ctx, fr.run.resumed.ID)
	return c, fr.run.sess.Unanswered(err)
}
