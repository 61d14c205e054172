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
		return v, a.askPeople(ctx, cause, why)
	}
	a.use.Again()
	return v, a.use.ReconcileLater(ctx, max(a.opt.Settle, reconciles[len(calls)]), said, cause)
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
