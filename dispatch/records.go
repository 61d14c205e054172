package dispatch

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/dispatch/internal/tasklog"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/story"
	"github.com/posthouse/posthouse/task"
)

// Records implements [task.Engine]. It reads the unfinished execution that handed the task
// out, for the first page: the claim keeps it until the last one.
func (d *Dispatcher) Records(ctx context.Context, id task.ClaimID, after string) (*task.Records, error) {
	at, err := tasklog.ParseCursor(after)
	if err != nil {
		return nil, err
	}
	c, _, err := d.claims.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	all := c.Recorded.Load()
	if after == "" || all == nil {
		all, err = d.log.Recorded(ctx, c.Gate)
		if err != nil {
			return nil, err
		}
	}
	out := &task.Records{Within: tasklog.Within(c.Gate), Grants: d.core.Rules.RequireGrants}
	if err := all.Page(out, at); err != nil {
		return nil, err
	}
	if out.Next == "" {
		all = nil
	}
	c.Recorded.Store(all)
	return out, nil
}

// Record implements [task.Engine]. The result is refused once the task's gate is decided.
func (d *Dispatcher) Record(ctx context.Context, id task.ClaimID, r task.StepResult) error {
	c, _, err := d.claims.Find(ctx, id)
	if err != nil {
		return err
	}
	name, ok := strings.CutPrefix(r.Name, tasklog.Within(c.Gate)+handler.Nested)
	switch {
	case !ok:
		return posthouse.Invalid("name", "%.200q is not that of a step of this task", r.Name)
	case r.Effect > posthouse.EffectExternal:
		return posthouse.Invalid("effect", "of step %.200q is not known", name)
	case r.Effect == posthouse.EffectExternal && d.core.Rules.RequireGrants:
		return posthouse.NeedsGrant(r.Name)
	}
	if err := handler.CheckName("step", name); err != nil {
		return err
	}
	if err := r.Value.Validate(name); err != nil {
		return err
	}
	if r.Value.Codec == effect.CodecFailed && !json.Valid(r.Value.Data) {
		return posthouse.Invalid("value", "of step %.200q is no failure", name)
	}
	if n := len(r.Value.Data); n > task.MaxStep {
		e := posthouse.TooLarge("step "+name, n, task.MaxStep)
		e.Hint = "keep large values elsewhere and record a reference"
		return e
	}
	// A step cannot have taken longer than the worker has had its task.
	told := posthouse.Story{Took: min(max(0, r.Took), d.core.Now().Sub(c.Since())), Attempts: c.Gate.Call.Attempt, Error: c.Gate.Call.Failure, Notes: r.Notes}
	if _, err := story.Encode(&told); err != nil {
		return err
	}
	err = c.Steps().Record(ctx, d.core, commit.RefOf(c.Gate), posthouse.Step{Name: r.Name, Occurrence: r.Occurrence, Effect: r.Effect, Value: r.Value, Story: told})
	if isOver(err) {
		d.claims.Forget(c)
		return claims.Lost(id)
	}
	return err
}
