package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/engine"
)

// Bounds of [ActOptions.Settle].
const (
	defaultSettle = 30 * time.Second
	maxSettle     = 24 * time.Hour
)

// reconciles are how long the program waits after each of its calls of Reconcile that did not
// settle the outcome, after the first one, which waits for Settle. People are asked after the last.
var reconciles = [...]time.Duration{0, time.Minute, 2 * time.Minute, 4 * time.Minute}

// Once people are asked the program looks on, each time after twice as long.
const (
	reconcileOn    = 8 * time.Minute
	maxReconcileOn = 24 * time.Hour
)

// pauseAfter returns how long the program waits after its n-th call of Reconcile, from 0.
func pauseAfter(n int, settle time.Duration) time.Duration {
	if n < len(reconciles) {
		return max(settle, reconciles[n])
	}
	return max(settle, min(reconcileOn<<min(n-len(reconciles), 16), maxReconcileOn))
}

// reconcile asks the program whether the attempts on record happened. It returns the result, or the
// zero Value once it is known that nothing happened, which is then on record. Until that is known
// it returns [posthouse.ErrWaiting]: the state is on record, with the timer of the next call or the
// question to people. cause is what the function has just returned, nil for an attempt of before.
func (a *action[T, Out]) reconcile(ctx context.Context, cause error) (v posthouse.Value, err error) {
	u := a.use.Use()
	calls := u.Reconciles()
	if n := len(calls); n > 0 {
		if err := a.use.AwaitReconcile(ctx, calls[n-1].Gate); err != nil {
			return v, err
		}
	}
	out, done, said := a.callReconcile(ctx)
	switch {
	case done && said == nil:
		return posthouse.Encode(nil, out)
	case said == nil && a.settles(u, cause):
		return v, a.use.Over(ctx, nil)
	case ctx.Err() != nil && cause == nil: // the run ends: nothing was found out
		return v, context.Cause(ctx)
	case !u.Ended() && cause == nil, len(calls) == len(reconciles):
		why := fmt.Errorf("its program looked %d time(s) and did not find that it was done", len(calls)+1)
		if said != nil {
			why = fmt.Errorf("its program cannot tell whether it was done: %w", said)
		}
		if before := cmp.Or(cause, a.mayBeDone); before != nil {
			why = fmt.Errorf("%w; %w", before, why)
		}
		if err := a.askPeople(ctx, cause, why); !errors.Is(err, posthouse.ErrWaiting) {
			return v, err
		}
		return v, a.use.ReconcileLater(ctx, pauseAfter(len(calls), a.opt.Settle), said, nil)
	}
	a.use.Again()
	return v, a.use.ReconcileLater(ctx, pauseAfter(len(calls), a.opt.Settle), said, cause)
}

// reconcileAsked is reconcile while people are asked about the attempts: the program looks on. What
// it finds answers the question, unless a person was faster.
func (a *action[T, Out]) reconcileAsked(ctx context.Context, asked posthouse.ID, u *effect.Use) (v posthouse.Value, err error) {
	calls := u.Reconciles()
	if n := len(calls); n > 0 {
		err := a.use.AwaitReconcile(ctx, calls[n-1].Gate)
		if errors.Is(err, posthouse.ErrWaiting) {
			return v, a.task.Gates().Await(ctx, asked)
		}
		if err != nil {
			return v, err
		}
	}
	out, done, said := a.callReconcile(ctx)
	found := posthouse.Decision{Reason: "the program's Reconcile found that it was done"}
	switch {
	case done && said == nil:
		v, err = posthouse.Encode(nil, out)
		if err != nil {
			return v, err
		}
		found.Verdict, found.Value = posthouse.Happened, v.Data
	case said == nil && a.settles(u, nil):
		found.Verdict, found.Reason = posthouse.Redo, "the program's Reconcile found twice that it was not done"
	case ctx.Err() != nil: // the run ends: nothing was found out
		return v, context.Cause(ctx)
	default:
		if err := a.use.ReconcileLater(ctx, pauseAfter(len(calls), a.opt.Settle), said, nil); !errors.Is(err, posthouse.ErrWaiting) {
			return v, err
		}
		return v, a.task.Gates().Await(ctx, asked)
	}
	return v, a.use.Answer(ctx, asked, found)
}

// callReconcile asks the program once.
func (a *action[T, Out]) callReconcile(ctx context.Context) (out Out, done bool, err error) {
	if ctx.Err() != nil {
		return out, false, context.Cause(ctx)
	}
	under, err := a.task.Session().Gate(ctx, a.use.Under())
	if err != nil {
		return out, false, err
	}
	content, err := licensed[T](under)
	if err != nil {
		return out, false, err
	}
	err = engine.Guard(func() error { out, done, err = a.opt.Reconcile(ctx, content); return err })
	if errors.Is(err, posthouse.ErrWaiting) {
		err = errors.New("it waits, which it cannot")
	}
	return out, done, err
}

// settles reports whether a call that finds nothing is the second one that does, and the end of
// the attempt was seen: the timers between the calls are Settle and longer.
func (a *action[T, Out]) settles(u *effect.Use, cause error) bool {
	if cause != nil || !u.Ended() {
		return false
	}
	for _, c := range u.Reconciles() {
		if c.NotDone {
			return true
		}
	}
	return false
}
