package dispatch

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/task"
)

// End implements [task.Engine].
func (d *Dispatcher) End(ctx context.Context, id task.ClaimID, n task.Ending) error {
	if err := n.Check(); err != nil {
		return err
	}
	return d.effects.change(ctx, id, &handler.Use{Name: n.Name, Occurrence: n.Occurrence}, func(e *attempt) error {
		says, err := d.saysNotDone(ctx, e.claim, n.NotDone)
		if err != nil {
			return err
		}
		return e.end(ctx, &n, says)
	})
}

// isOver reports whether the task of the claim has been decided.
func (e *attempt) isOver() bool {
	return slices.ContainsFunc(e.task.Gates, func(g *posthouse.Gate) bool { return g.ID == e.claim.Gate.ID && g.Decision != nil })
}

// end ends an attempt. says means that the worker's word counts, that nothing happened.
func (e *attempt) end(ctx context.Context, n *task.Ending, says bool) error {
	nonce, mine, err := e.own()
	if err != nil {
		return err
	}
	if !mine || nonce != n.Nonce {
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Field: "nonce", Message: "effect " + n.Name + " was not begun by this call of this claim",
			Hint: "begin it first; what an earlier claim began is settled at the next begin",
		}
	}
	s, newest := e.state, e.state.Newest()
	ended := func(same bool) error {
		if same {
			return nil
		}
		return &posthouse.Error{Code: posthouse.CodeExists, Field: "result", Message: "effect " + n.Name + " ended otherwise before", Hint: "the first end counts"}
	}
	switch {
	case s.Result != nil:
		return ended(n.Result != nil && s.Result.Value.Codec == n.Result.Codec && string(s.Result.Value.Data) == string(n.Result.Data))
	case s.Use.State() == effect.Unknown && e.isOver():
		e.claims.Forget(e.claim)
		return claims.Lost(e.claim.ID)
	case s.Use.State() != effect.Begun:
		return ended(n.Failed != "" && says == (s.Use.State() == effect.NotDone))
	case n.Failed != "" && newest.Effect == posthouse.EffectWrite && !says:
		return nil // its next attempt has the same key
	case n.Failed != "" && !says:
		unknown, err := e.mark(effect.RecordUnknown, newest.Occurrence, newest.Effect, newest.Grant, n.Nonce, n.Failed)
		if err != nil {
			return err
		}
		return e.put(ctx, []posthouse.Step{unknown})
	case n.Failed != "":
		if first, _ := s.Use.Open(); first < len(s.Begun)-1 {
			return nil // an earlier attempt may have acted: this word does not say so of that
		}
		over, err := e.mark(effect.RecordOver, newest.Occurrence, newest.Effect, newest.Grant, n.Nonce, n.Failed)
		if err != nil {
			return err
		}
		undone, err := e.mark(effect.RecordUndone, uint32(e.tail+1), newest.Effect, newest.Grant, n.Nonce, "")
		if err != nil {
			return err
		}
		return e.put(ctx, []posthouse.Step{undone, over})
	}
	step := posthouse.Step{
		Name: e.task.Within + handler.Nested + n.Name, Occurrence: n.Occurrence, Effect: newest.Effect, Grant: newest.Grant, Value: *n.Result,
	}
	if err := e.claim.Steps().FitsUse(&step, e.task.Steps); err != nil {
		return err
	}
	return e.put(ctx, []posthouse.Step{step})
}
