package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// maxBegun bounds how often one claim begins an effect. A handler that runs to its end does once.
const maxBegun = 20

// Begin implements [task.Engine].
func (d *Dispatcher) Begin(ctx context.Context, id task.ClaimID, b task.Beginning) (out *task.Begun, err error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	err = d.effects.change(ctx, id, (*handler.Use)(&b.Use), func(e *attempt) (err error) {
		out, err = e.begin(ctx, &b)
		return err
	})
	return out, err
}

func (e *attempt) begin(ctx context.Context, b *task.Beginning) (*task.Begun, error) {
	if e.state.Result != nil {
		return e.result(ctx, b)
	}
	if err := e.mayCall(b.Nonce); err != nil {
		return nil, err
	}
	nonce, mine, err := e.own()
	if err != nil {
		return nil, err
	}
	if mine && e.state.Use.State() == effect.Begun {
		if nonce != b.Nonce {
			return nil, &posthouse.Error{
				Code: posthouse.CodeForbidden, Field: "nonce", Message: "effect " + b.Use.Name + " was begun by another call of this claim, which has not ended",
				Hint: "wait for that call: one use of a grant has one attempt at a time",
			}
		}
		under, err := e.task.Under(ctx, e.state.Newest().Grant)
		if err != nil || under == nil {
			return nil, errors.Join(err, claims.Lost(e.claim.ID))
		}
		key, err := e.key(ctx, under.ID)
		if err != nil {
			return nil, err
		}
		return &task.Begun{Begins: true, Gate: under, Key: key}, nil
	}
	return e.beginAttempt(ctx, b)
}

// mayCall refuses a call if its attempt has ended, or after too many calls of its claim. A repeated
// call that comes late begins no other attempt.
func (e *attempt) mayCall(nonce string) error {
	n := 0
	open, _ := e.state.Use.Open()
	for i := range e.state.Begun {
		u, err := commit.ReadHandlerUse(e.state.Begun[i].Value.Data)
		if err != nil || u.Gate != e.claim.Gate.ID || u.Fence != e.claim.ID.Fence {
			continue
		}
		if n++; u.Nonce == nonce && (i < open || i < len(e.state.Begun)-1) {
			return &posthouse.Error{
				Code: posthouse.CodeForbidden, Field: "nonce", Message: "the attempt that this call began has ended",
				Hint: "a further attempt is another call: give it a nonce of its own",
			}
		}
	}
	if n >= maxBegun && !e.state.Use.HasOpen() {
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Field: "effect", Message: fmt.Sprintf("began %d times in this attempt of the task, which is the limit", n),
			Hint: "give the task's verdict: its next attempt may begin it",
		}
	}
	return nil
}

// result returns the recorded result of an effect, unless it ran on other content than the grant
// licenses.
func (e *attempt) result(ctx context.Context, b *task.Beginning) (*task.Begun, error) {
	ran := e.state.Result.Grant
	if ran != "" && ran != b.Use.Grant {
		now, err := e.task.Grant(b.Use.Grant)
		if err != nil {
			return nil, err
		}
		before, err := e.task.Under(ctx, ran)
		if err != nil {
			return nil, err
		}
		if before != nil && before.Decision != nil && !license.SameContent(before, now) {
			return nil, license.Conflict(b.Use.Name, before, now.ID)
		}
	}
	return &task.Begun{Result: &e.state.Result.Value}, nil
}

// errFindOut says that the handler is to find out what became of an attempt.
var errFindOut = errors.New("find out")

// beginAttempt finds out whether an effect without a result may run. It records what is known of
// earlier attempts, and that this one begins.
func (e *attempt) beginAttempt(ctx context.Context, b *task.Beginning) (*task.Begun, error) {
	asks := &task.Begun{}
	var reconcile func(*posthouse.Gate, int) (bool, error)
	if b.Reconciles {
		reconcile = func(under *posthouse.Gate, attempt int) (bool, error) {
			if b.Found == nil || b.Found.Attempt != attempt {
				asks.Gate, asks.Unknown = under, attempt
				return false, errFindOut
			}
			return b.Found.Done, nil
		}
	}
	s, err := e.task.Resolve(ctx, e.task.Recorded(e.state.Effect), (*handler.Use)(&b.Use), reconcile)
	switch {
	case errors.Is(err, errFindOut):
		return asks, nil
	case errors.Is(err, posthouse.ErrWaiting):
		return &task.Begun{Waits: true}, nil
	case err != nil:
		return nil, err
	case s.Before != nil:
		return e.happened(ctx, b, s)
	case b.Look, b.Passed != "" && b.Passed != s.Under.ID:
		return &task.Begun{Gate: s.Under}, nil
	}
	uses, by, err := ledger.UsesOfEdit(ctx, e.ledger, s.Under)
	if err != nil {
		return nil, err
	}
	if by != "" {
		return nil, license.Replaced(s.Under, by)
	}
	begun := uint32(len(e.state.Begun))
	if err := license.MayBegin(s.Under, uses, e.claim.Gate.Task, e.state.Effect, begun); err != nil {
		return nil, err
	}
	class := posthouse.EffectExternal
	if b.Use.Idempotent {
		class = posthouse.EffectWrite
	}
	var steps []posthouse.Step
	add := func(what string, n uint32, grant posthouse.ID) {
		var step posthouse.Step
		if err == nil {
			step, err = e.mark(what, n, class, grant, b.Nonce, "")
			steps = append(steps, step)
		}
	}
	key := e.keyUnder(s.Under.ID)
	if s.Repeats {
		key, err = e.key(ctx, s.Under.ID)
	} else if e.state.Use.HasOpen() { // the handler found that nothing happened
		add(effect.RecordOver, begun-1, e.state.Newest().Grant)
	}
	add(effect.RecordBegins, begun, s.Under.ID)
	add(effect.RecordClaimed, uint32(e.tail+1), s.Under.ID)
	if err == nil {
		err = e.put(ctx, steps)
	}
	if err != nil {
		return nil, err
	}
	return &task.Begun{Begins: true, Gate: s.Under, Key: key}, nil
}

// happened records the result of an attempt that a person or the handler found out.
func (e *attempt) happened(ctx context.Context, b *task.Beginning, s *license.Resolution) (*task.Begun, error) {
	var v posthouse.Value
	if s.Happened != nil {
		v = posthouse.Value{Codec: posthouse.JSON.Name(), Data: s.Happened.Decision.Value}
	} else {
		v = *b.Found.Result
	}
	newest := e.state.Newest()
	step := posthouse.Step{
		Name: e.task.Within + handler.Nested + b.Use.Name, Occurrence: b.Use.Occurrence, Effect: newest.Effect, Grant: s.Before.ID, Value: v,
	}
	if err := e.claim.Steps().FitsUse(&step, e.task.Steps); err != nil {
		return nil, err
	}
	if err := e.put(ctx, []posthouse.Step{step}); err != nil {
		return nil, err
	}
	if s.Other {
		return nil, license.Conflict(b.Use.Name, s.Before, b.Use.Grant)
	}
	return &task.Begun{Result: &v}, nil
}
