package dispatch

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/task"
)

// End implements [task.Engine].
func (d *Dispatcher) End(ctx context.Context, id task.ClaimID, n task.Ending) error {
	if err := n.Check(); err != nil {
		return err
	}
	return d.effects.change(ctx, id, &handler.Use{Name: n.Name, Occurrence: n.Occurrence}, func(e *effect) error {
		says, err := d.saysNotDone(ctx, e.claim, n.NotDone)
		if err != nil {
			return err
		}
		return e.end(ctx, &n, says)
	})
}

// end ends an attempt. says means that the worker's word counts, that nothing happened.
func (e *effect) end(ctx context.Context, n *task.Ending, says bool) error {
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
	case !s.IsOpen():
		return ended(n.Failed != "")
	case n.Failed != "" && (!says || len(s.Begun)-len(s.Undone) > 1):
		return nil // this attempt may have acted, or an earlier one, of which its word says nothing
	case n.Failed != "":
		failed, err := e.mark(handler.UseFailed, uint32(len(s.Undone)), newest.Effect, newest.Grant, n.Nonce, n.Failed)
		if err != nil {
			return err
		}
		undone, err := e.mark(handler.UseUndone, uint32(e.tail+1), newest.Effect, newest.Grant, n.Nonce, "")
		if err != nil {
			return err
		}
		return e.put(ctx, []posthouse.Step{undone, failed})
	}
	step := posthouse.Step{
		Name: e.task.Within + handler.Nested + n.Name, Occurrence: n.Occurrence, Effect: newest.Effect, Grant: newest.Grant, Value: *n.Result,
	}
	if err := e.claim.Steps().FitsUse(&step, e.task.Steps); err != nil {
		return err
	}
	return e.put(ctx, []posthouse.Step{step})
}
