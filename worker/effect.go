package worker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/task"
)

// Act implements [handler.Scope]. The engine says what the effect runs on, and has on record
// that it begins before it does.
func (r *records) Act(ctx context.Context, a handler.Action) (posthouse.Value, error) {
	if err := errors.Join(handler.CheckName("step", a.Name), handler.CheckEffect(a.Name)); err != nil {
		return posthouse.Value{}, err
	}
	r.mu.Lock()
	have, err := r.load()
	if err != nil {
		r.mu.Unlock()
		return posthouse.Value{}, err
	}
	a.Occurrence = r.count(have.Within + handler.Nested + a.Name)
	var proposed *posthouse.Gate
	for i := range have.Gates {
		if g := &have.Gates[i]; g.ID == a.Grant {
			proposed = g
		}
	}
	before := r.failures.received()
	r.mu.Unlock()
	if proposed != nil && a.Fits != nil {
		if err := a.Fits(proposed); err != nil {
			return posthouse.Value{}, err
		}
	}
	return r.act(ctx, &a, before)
}

// act runs an effect, or returns what is on record of it. before are the failures that its caller
// knows: they are on record before it begins.
func (r *records) act(ctx context.Context, a *handler.Action, before []*task.StepResult) (v posthouse.Value, err error) {
	if err := r.keepFailures(before); err != nil {
		return v, err
	}
	if err := r.e.Heartbeat(); err != nil {
		return v, err
	}
	b := task.Beginning{Use: task.Use(a.Use), Nonce: nonce(), Look: a.Check != nil, Reconciles: a.Reconcile != nil}
	for {
		begun, err := r.begin(b)
		switch {
		case err != nil:
			return v, err
		case begun.Result != nil:
			return *begun.Result, nil
		case begun.Waits:
			r.await(task.Wait{Act: &b.Use})
			return v, posthouse.ErrWaiting
		case begun.Begins && begun.Gate != nil:
			r.acted(before)
			return r.run(ctx, a, b.Nonce, begun)
		case begun.Gate == nil || ctx.Err() != nil:
			return v, errors.Join(context.Cause(ctx), posthouse.Invalid("begun", "says nothing of effect %.40q: use the same release on both sides", a.Name))
		case begun.Unknown > 0 && a.Reconcile != nil:
			found := &task.Found{Attempt: begun.Unknown}
			result, done, err := a.Reconcile(ctx, begun.Gate)
			found.Done = done && err == nil
			if found.Done { // else people are asked
				found.Result = &result
			}
			b.Found = found
		case a.Check != nil:
			b.Look, b.Passed, b.Use.Refused, b.Use.Why = false, begun.Gate.ID, "", ""
			if why := a.Check(ctx, begun.Gate.Clone()); why != nil {
				b.Passed, b.Use.Refused, b.Use.Why = "", begun.Gate.ID, reasonOf(why)
			}
		}
	}
}

func (r *records) begin(b task.Beginning) (begun *task.Begun, err error) {
	err = r.e.repeat(func(ctx context.Context) (err error) {
		begun, err = r.e.run.worker.engine.Begin(ctx, r.e.claim.ID, b)
		return err
	})
	return begun, err
}

// run runs an effect that is on record as begun, and ends it. An error that does not say that
// nothing happened leaves its outcome unknown: the handler waits until that is settled.
func (r *records) run(ctx context.Context, a *handler.Action, nonce string, begun *task.Begun) (v posthouse.Value, err error) {
	end := task.Ending{Name: a.Name, Occurrence: a.Occurrence, Nonce: nonce, Result: &v}
	began := false
	err = r.e.Heartbeat()
	if err == nil { // the answer may have come too late
		began = true
		v, err = a.Run(handler.WithKey(handler.With(ctx, inStep{&r.e.notes}), begun.Key), begun.Gate)
	}
	if began && err != nil && r.e.ctx.Err() != nil {
		return v, err // the claim is over, and its end is not heard
	}
	if err != nil && a.Reconcile != nil && ctx.Err() == nil && began && !effect.IsNotDone(err) {
		if found, done, cannot := a.Reconcile(ctx, begun.Gate); cannot == nil && done {
			v, err = found, nil
		}
	}
	if err != nil {
		end.Result, end.Failed, end.NotDone = nil, reasonOf(err), !began || effect.IsNotDone(err)
	}
	ended := r.e.repeat(func(ctx context.Context) error { return r.e.run.worker.engine.End(ctx, r.e.claim.ID, end) })
	if err == nil {
		return v, ended
	}
	if ended == nil && !end.NotDone && !a.Idempotent { // people are asked, or the handler finds out when it runs again
		r.await(task.Wait{Act: (*task.Use)(&a.Use)})
		err = posthouse.ErrWaiting
	}
	return v, err
}

// await notes a wait that is not over.
func (r *records) await(w task.Wait) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits, r.open = append(r.waits, w), true
	r.waitsAfter()
}

func nonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}

func (inStep) Propose(g posthouse.Gate, _ posthouse.ID) (*posthouse.Gate, error) {
	return nil, nestedError("question", g.Name)
}

func (inStep) Replaced(posthouse.ID) bool { return false }

func (inStep) Act(_ context.Context, a handler.Action) (posthouse.Value, error) {
	return posthouse.Value{}, nestedError("effect", a.Name)
}
