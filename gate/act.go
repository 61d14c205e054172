package gate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/jsontype"
	"github.com/posthouse/posthouse/internal/license"
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

	// Reconcile finds out whether an effect with an unknown outcome happened: it returns done with
	// the result, or not done. An error says that it cannot tell. Done counts immediately. Not done
	// counts if two calls say so, the second one Settle or more after the attempt ended, since what
	// was sent may still be carried out. Then the effect runs again. Of an attempt that was cut
	// off (a crash, a lost lease) it does not count: people are asked when its thread is taken over.
	// Otherwise they are asked after five calls, and Reconcile is called on after that, each time after
	// a longer pause. What it finds answers their question, by "program:reconcile", if nobody has yet.
	// In a handler not done never counts. Nil: people are asked immediately.
	Reconcile func(ctx context.Context, content T) (out Out, done bool, err error)

	// Settle is how long after an attempt ended a Reconcile that finds nothing counts. Default 30 s;
	// at least a second.
	Settle time.Duration
}

// Act runs an effect on what was approved, once. fn gets the content of the
// decision's record, as it was shown or edited, never the state's. Its result is
// a recorded step that names the gate.
//
// A decision licenses as many effects as its question's Uses say, on the branch
// where it was given. Another attempt of the same step is the same use; one use
// more is [posthouse.ErrForbidden]. The approval may not hold here and now: on a fork
// or a copy, after ValidFor (a redo renews it for its effect), or if the Ledger's policy or Check refuses. Then people
// are asked to approve or reject the same content again, and Act returns
// [posthouse.ErrWaiting]. A rejection, a response, a question bound by name and
// one asked by [Ask] license nothing: ErrForbidden.
//
// Before fn runs, the attempt is put on record. If fn returns an error that [NotDone] marks,
// nothing happened: Act returns it, and the next attempt may run. Any other error, a panic and a
// context that ended leave the outcome unknown, as a crash does: the request may have been carried
// out. So does NotDone after steps or tasks within fn have results on record. An unknown attempt
// never runs again by itself, unless it is Idempotent. It is reconciled, or people are asked, and
// Act returns [posthouse.ErrWaiting]. They are shown its content, and say that it happened (with
// its result), that it did not and is to be done now, or give it up permanently. If other content
// is licensed by then, it runs only if the first effect did not happen; if it did, Act returns
// [posthouse.ErrConflict].
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
	opt.Settle = cmp.Or(opt.Settle, defaultSettle)
	if opt.Settle < time.Second || opt.Settle > maxSettle {
		return none, posthouse.Invalid("Settle", "of effect %.40q is %s; it is 1 s to 24 h, 0 means 30 s", name, opt.Settle)
	}
	if h, ok := handler.From(ctx); ok {
		return actInHandler(ctx, h, name, grant, fn, opt)
	}
	task, err := engine.TaskOf(ctx, "gate.Act")
	if err != nil {
		return none, err
	}
	class := posthouse.EffectExternal
	if opt.Idempotent {
		class = posthouse.EffectWrite
	}
	c, err := task.Call(ctx, name, engine.StepOptions{Effect: class})
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
	if err != nil && a.happened && !errors.Is(err, posthouse.ErrWaiting) { // its result is not on record
		err = a.askPeople(ctx, err, err)
	}
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

	happened  bool            // its function returned a result
	mayBeDone error           // why it may be done already, though nothing of it is on record
	other     *posthouse.Gate // under which the effect had happened, on other content
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
	state, u, err := a.use.State(ctx)
	if err == nil {
		state, u, err = a.elsewhere(ctx, g, state, u)
	}
	if err != nil {
		return posthouse.Value{}, err
	}
	open := false // an earlier attempt, with an outcome that stays unknown
	switch state {
	case effect.Waiting:
		return a.goOn(ctx, g, u)
	case effect.NotDone:
		if err := a.use.Over(ctx, nil); err != nil { // what it waited for was taken back
			return posthouse.Value{}, err
		}
	case effect.Unknown, effect.Done, effect.GivenUp:
		v, how, err := a.resolveOutcome(ctx, g, state, u)
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
	if late := context.Cause(ctx); late != nil && !open { // the answer came too late: its function never begins
		return posthouse.Value{}, cmp.Or(a.use.Over(context.WithoutCancel(ctx), late), late)
	}
	return a.perform(ctx, grant, g, open)
}

// goOn continues a use that waited within its function. It has begun, so nothing is asked
// again: it ends under the decision that it began under.
func (a *action[T, Out]) goOn(ctx context.Context, g *posthouse.Gate, u *effect.Use) (posthouse.Value, error) {
	under, err := a.task.Session().Gate(ctx, a.use.Under())
	if err != nil {
		return posthouse.Value{}, err
	}
	if !license.SameContent(under, g) {
		return posthouse.Value{}, license.Conflict(a.name, under, g.ID)
	}
	if u.Rests() {
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
	var out Out
	err = engine.Guard(func() (err error) {
		out, err = a.fn(context.WithValue(effect.Traced(within), keyGranted{}, g.Clone()), content)
		return err
	})
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
		err = a.use.Strayed()
	}
	return a.ended(ctx, out, err, open)
}

// ended makes what the function of a use returned its result. Of an error it puts on record what
// that says of the effect: nothing happened, or it is not known, and people are asked.
func (a *action[T, Out]) ended(ctx context.Context, out Out, err error, open bool) (posthouse.Value, error) {
	if err == nil {
		v, failed := encodeResult(out)
		if failed == nil {
			a.happened = !a.opt.Idempotent
			return v, nil
		}
		err = fmt.Errorf("its result does not encode: %w", failed) // it has happened
	}
	parts := a.use.Acted() && !a.use.Lapsed()
	switch {
	case effect.IsNotDone(err) && !open && !parts:
		return posthouse.Value{}, cmp.Or(a.use.Over(context.WithoutCancel(ctx), err), err)
	case a.opt.Idempotent: // the next attempt has the same key
		return posthouse.Value{}, err
	}
	if a.opt.Reconcile == nil {
		return posthouse.Value{}, a.askPeople(ctx, err, err)
	}
	return a.reconcile(ctx, err)
}

// encodeResult encodes the result of an effect. A panic of the type's encoding is an error.
func encodeResult[Out any](out Out) (v posthouse.Value, err error) {
	err = engine.Guard(func() (err error) { v, err = posthouse.Encode(nil, out); return err })
	return v, err
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
	why, err = license.Stale(ctx, s.Ledger().Core(), g, s.Thread(), s.Branch(), a.use.Use())
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
