package gate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/jsontype"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/runs"
)

// ActOptions refine [Act]. The zero value is an effect that is not idempotent. People are
// asked about an unknown outcome.
type ActOptions[T, Out any] struct {
	// Idempotent says that the effect happens once for a key (step.Key), however
	// often it is done. After a crash it runs again at once.
	Idempotent bool

	// Expect is what the program believes was approved. If something else was, Act
	// returns [posthouse.ErrConflict] before anything runs. Nil: any content.
	Expect *T

	// Check returns an error if the approval no longer holds, as when a mandate was
	// revoked or a price moved. The question is then asked again. The Ledger's policy is
	// checked, too.
	//
	// Where fn hands a task to a worker, Check is asked again each time that a worker wants it,
	// until one has it. Only the program can do that. So such a task waits while no program runs
	// its thread (app.Serve, or Resume).
	Check func(ctx context.Context, g *posthouse.Gate) error

	// Reconcile finds out what became of an effect with an unknown outcome. It
	// returns done with the result, or not done, and then the effect runs. Nil:
	// people are asked.
	Reconcile func(ctx context.Context, content T) (out Out, done bool, err error)
}

// Act runs an effect on what was approved, once. fn gets the content of the
// decision's record, as it was shown or edited, never the state's. Its result is
// a recorded step that names the gate.
//
// A decision licenses as many effects as its question's Uses say, on the branch
// where it was given. Another attempt of the same step is the same use; one use
// more is [posthouse.ErrForbidden]. The approval may not hold here and now: on a fork
// or a copy, after ValidFor, or if the Ledger's policy or Check refuses. Then people
// are asked to approve or reject the same content again, and Act returns
// [posthouse.ErrWaiting]. A rejection, a response, a question bound by name and
// one asked by [Ask] license nothing: ErrForbidden.
//
// Before fn runs, the attempt is put on record. If fn returns an error, nothing
// happened and the next attempt may run. If steps or tasks of it have results on record, those
// happened: the next attempt goes on after them, under the same decision. An error of a context that ended, or one
// that wraps [posthouse.ErrUnknown], leaves the outcome unknown, as a crash does. Such
// an attempt never runs again by itself unless it is Idempotent: it is reconciled, or
// people are asked. They are shown its content and say that it happened (respond,
// with its result), that it did not (approve: it runs), or give it up (reject, for
// good). If other content is licensed by then, it runs only if the first effect did
// not happen; if it did, Act returns [posthouse.ErrConflict].
//
// A name that ends like the number of a call, as in "pay[1]", is ErrInvalid.
//
// In the handler of a worker its engine puts the attempt and its result on record, and says
// what was approved. The grant must be one that this task's handler proposed, in this iteration:
// any other is ErrForbidden. A worker that dies, stops or loses the task in the middle of fn
// leaves the outcome unknown. fn can neither record steps nor wait.
func Act[T, Out any](ctx context.Context, name string, grant Grant, fn func(ctx context.Context, content T) (Out, error), o ...ActOptions[T, Out]) (Out, error) {
	var none Out
	opt, err := engine.Optional(o)
	if err != nil {
		return none, err
	}
	if fn == nil {
		return none, posthouse.Invalid("fn", "of effect %.40q is nil", name)
	}
	if h, ok := handler.From(ctx); ok {
		return actInHandler(ctx, h, name, grant, fn, opt)
	}
	task, err := engine.TaskOf(ctx, "gate.Act")
	if err != nil {
		return none, err
	}
	effect := posthouse.EffectExternal
	if opt.Idempotent {
		effect = posthouse.EffectWrite
	}
	c, err := task.Call(ctx, name, engine.StepOptions{Effect: effect})
	if err != nil {
		return none, err
	}
	use, err := c.Effect()
	if err != nil {
		return none, err
	}
	a := &action[T, Out]{task: task, name: name, fn: fn, opt: opt, use: use}
	use.Holds, use.Checks = a.holds, opt.Check != nil
	if err := a.same(ctx, grant); err != nil {
		return none, err
	}
	v, err := c.Run(ctx, func(ctx context.Context) (posthouse.Value, error) { return a.run(ctx, grant) })
	if err != nil {
		return none, err
	}
	if a.other != nil {
		return none, license.Conflict(a.name, a.other, posthouse.ID(grant))
	}
	return jsontype.DecodeRecorded[Out]("the result of effect "+name, v)
}

// keyGranted is where [Act] puts the gate into its function's context.
type keyGranted struct{}

// Granted returns the gate that licenses, by its decision, the effect that [Act] runs
// with ctx. It says who approved, and when. It must not be changed. Outside of that
// function it is nil.
func Granted(ctx context.Context) *posthouse.Gate {
	g, _ := ctx.Value(keyGranted{}).(*posthouse.Gate)
	return g
}

// An action is one call of Act that has no result on record.
type action[T, Out any] struct {
	task *engine.Task
	name string
	fn   func(context.Context, T) (Out, error)
	opt  ActOptions[T, Out]
	use  *engine.Effect

	other *posthouse.Gate // under which the effect had happened, on other content
}

func (a *action[T, Out]) run(ctx context.Context, grant Grant) (posthouse.Value, error) {
	g, err := a.resolve(ctx, grant)
	if err != nil {
		return posthouse.Value{}, err
	}
	content, err := licensed[T](g)
	if err != nil {
		return posthouse.Value{}, err
	}
	if err := a.expected(g, content); err != nil {
		return posthouse.Value{}, err
	}
	state, attempt, err := a.use.State(ctx)
	if err != nil {
		return posthouse.Value{}, err
	}
	open := false // an earlier attempt, with an outcome that stays unknown
	switch state {
	case engine.UseWaits, engine.UseGoesOn:
		return a.goOn(ctx, g, state)
	case engine.UseWithdrawn:
		if err := a.use.Failed(ctx, nil); err != nil {
			return posthouse.Value{}, err
		}
	case engine.UseUnknown:
		v, how, err := a.resolveOutcome(ctx, g, attempt)
		if err != nil || how == happened {
			return v, err
		}
		open = how == repeatable
	}
	stale := func(g *posthouse.Gate) (why, err error) { return a.stale(ctx, g) }
	g, err = license.Current(ctx, a.task.Gates(), a.reader(), g, stale)
	if err != nil {
		return posthouse.Value{}, err
	}
	if err := a.alone(ctx, g); err != nil {
		return posthouse.Value{}, err
	}
	if err := a.use.Release(ctx, g); err != nil {
		return posthouse.Value{}, err
	}
	return a.perform(ctx, grant, g, open)
}

// goOn lets a use go on that waited within its function. It has begun, so nothing is asked
// again: it ends under the decision that it began under.
func (a *action[T, Out]) goOn(ctx context.Context, g *posthouse.Gate, state engine.UseState) (posthouse.Value, error) {
	under, err := a.task.Session().Gate(ctx, a.use.Under())
	if err != nil {
		return posthouse.Value{}, err
	}
	if !license.SameContent(under, g) {
		return posthouse.Value{}, license.Conflict(a.name, under, g.ID)
	}
	if state == engine.UseWaits {
		return posthouse.Value{}, a.use.Wait()
	}
	if err := a.use.GoOn(ctx); err != nil {
		return posthouse.Value{}, err
	}
	return a.perform(ctx, Grant(g.ID), under, false)
}

// alone refuses to run the function on other content than that on which parts of it ran.
func (a *action[T, Out]) alone(ctx context.Context, g *posthouse.Gate) error {
	before := a.use.Under()
	if before == "" || before == g.ID || !a.use.Acted() {
		return nil
	}
	under, err := a.task.Session().Gate(ctx, before)
	if errors.Is(err, posthouse.ErrNotFound) || err == nil && license.SameContent(under, g) {
		return nil
	}
	if err != nil {
		return err
	}
	return license.Conflict(a.name, under, g.ID)
}

// perform runs the function of a use that is on record as begun. Something that it waits for
// leaves the use as it is.
func (a *action[T, Out]) perform(ctx context.Context, grant Grant, g *posthouse.Gate, open bool) (posthouse.Value, error) {
	content, err := licensed[T](g)
	if err != nil {
		return posthouse.Value{}, err
	}
	within, err := a.use.Context(ctx)
	if err != nil {
		return posthouse.Value{}, err
	}
	out, err := a.fn(context.WithValue(within, keyGranted{}, g.Clone()), content)
	if waits, e := a.use.Park(ctx); waits || e != nil {
		return posthouse.Value{}, cmp.Or(e, posthouse.ErrWaiting)
	}
	if e := a.use.Lost(ctx); errors.Is(e, posthouse.ErrUnknown) {
		a.use.Again()
		return a.run(ctx, grant) // a worker may have acted, whatever the function made of it
	} else if e != nil {
		return posthouse.Value{}, e
	}
	if errors.Is(err, posthouse.ErrWaiting) {
		strayed, isNew := a.use.Strayed()
		return a.ended(ctx, grant, out, strayed, open || !isNew)
	}
	return a.ended(ctx, grant, out, err, open)
}

// ended makes what the function of a use returned its result, or puts on record how its attempt
// failed.
func (a *action[T, Out]) ended(ctx context.Context, grant Grant, out Out, err error, open bool) (posthouse.Value, error) {
	var remote *runs.RemoteError
	switch {
	case err == nil:
		return posthouse.Encode(nil, out)
	case errors.As(err, &remote) && remote.Unknown && !a.opt.Idempotent:
		a.use.Again()
		return a.run(ctx, grant) // people are asked at once
	case !open && (remote == nil || !remote.Unknown) && !license.OutcomeUnknown(ctx, err):
		record := a.use.Failed
		if a.use.Acted() && !a.use.Lapsed() {
			record = a.use.Begun
		}
		if e := record(context.WithoutCancel(ctx), err); e != nil {
			return posthouse.Value{}, e
		}
	}
	return posthouse.Value{}, err
}

// same refuses the recorded result of an effect that ran on other content than the grant
// licenses.
func (a *action[T, Out]) same(ctx context.Context, grant Grant) error {
	ran := a.use.Ran()
	if ran == "" || ran == posthouse.ID(grant) {
		return nil
	}
	s := a.task.Session()
	before, err := s.Gate(ctx, ran)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil // deleted since: the result is all there is
	}
	if err != nil {
		return err
	}
	now, err := s.Gate(ctx, posthouse.ID(grant))
	if err == nil {
		err = license.Never(now)
	}
	if err != nil || before.Decision == nil || license.SameContent(before, now) {
		return err
	}
	return license.Conflict(a.name, before, posthouse.ID(grant))
}

// resolve returns the gate of a grant, if its decision licenses anything at all.
func (a *action[T, Out]) resolve(ctx context.Context, grant Grant) (*posthouse.Gate, error) {
	if grant == "" {
		return nil, posthouse.Invalid("grant", "of effect %.40q is empty: propose it first (gate.Propose)", a.name)
	}
	g, err := a.task.Session().Gate(ctx, posthouse.ID(grant))
	if err != nil {
		return nil, err
	}
	return g, license.Never(g)
}

// expected compares what is on record with what the caller believes.
func (a *action[T, Out]) expected(g *posthouse.Gate, content T) error {
	return expected(a.name, a.opt.Expect, g, content)
}

func expected[T any](name string, expect *T, g *posthouse.Gate, content T) error {
	if expect == nil {
		return nil
	}
	want, err := posthouse.JSON.Marshal(expect)
	if err != nil {
		return err
	}
	have, err := posthouse.JSON.Marshal(content)
	if err != nil {
		return err
	}
	if bytes.Equal(want, have) {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Field: "content", Gate: g.ID, Decision: g.Decision,
		Message: fmt.Sprintf("effect %s expects %.200s, and %.200s was approved", name, want, have), Hint: "propose what is to be done now",
	}
}

func (a *action[T, Out]) reader() *license.Reader {
	s := a.task.Session()
	return &license.Reader{Now: s.Ledger().Now, Gate: s.Gate}
}

// stale returns why a decision does not hold here and now. err says that the store did not answer.
func (a *action[T, Out]) stale(ctx context.Context, g *posthouse.Gate) (why, err error) {
	s := a.task.Session()
	why, err = license.Stale(ctx, s.Ledger().Core(), g, s.Thread(), s.Branch())
	if why != nil || err != nil || a.opt.Check == nil {
		return why, s.Unanswered(err)
	}
	return engine.Guard(func() error { return a.opt.Check(ctx, g.Clone()) }), nil
}

// holds returns why a decision does not hold here and now, or why that cannot be said.
func (a *action[T, Out]) holds(ctx context.Context, g *posthouse.Gate) error {
	why, err := a.stale(ctx, g)
	return cmp.Or(why, err)
}
