package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

func within(g *posthouse.Gate) string {
	return handler.Within(g.Name, g.Occurrence, g.Call.Iteration)
}

// Records implements [task.Engine]. It reads the unfinished execution that handed the task
// out.
func (d *Dispatcher) Records(ctx context.Context, id task.ClaimID) (*task.Records, error) {
	h, _, err := d.holds(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &task.Records{Within: within(h.gate), Grants: commit.RequiresGrants(d.core)}
	info, err := d.ledger.Thread(ctx, h.gate.Thread)
	if err != nil {
		return nil, err
	}
	branch, ok := info.Branch(h.gate.Branch)
	if !ok {
		return out, nil
	}
	head, err := d.ledger.GetHeader(ctx, branch.Head)
	if err != nil {
		return nil, err
	}
	all, err := ledger.Executions(ctx, d.ledger, head)
	if err != nil {
		return nil, err
	}
	x := all[h.gate.Task]
	if x == nil {
		return out, nil
	}
	prefix := out.Within + handler.Nested
	for i := range x.Steps {
		if s := &x.Steps[i]; strings.HasPrefix(s.Name, prefix) {
			out.Steps = append(out.Steps, task.StepResult{Name: s.Name, Occurrence: s.Occurrence, Effect: s.Effect, Value: s.Value})
		}
	}
	for _, g := range x.Gates {
		if strings.HasPrefix(g.Name, prefix) {
			out.Gates = append(out.Gates, *g)
		}
	}
	return out, nil
}

// Record implements [task.Engine]. The result is refused once the task's gate is decided.
func (d *Dispatcher) Record(ctx context.Context, id task.ClaimID, r task.StepResult) error {
	h, _, err := d.holds(ctx, id)
	if err != nil {
		return err
	}
	name, ok := strings.CutPrefix(r.Name, within(h.gate)+handler.Nested)
	switch {
	case !ok:
		return posthouse.Invalid("name", "%.200q is not that of a step of this task", r.Name)
	case r.Effect > posthouse.EffectExternal:
		return posthouse.Invalid("effect", "of step %.200q is not known", name)
	case r.Effect == posthouse.EffectExternal && commit.RequiresGrants(d.core):
		return posthouse.NeedsGrant(r.Name)
	}
	if err := handler.CheckName("step", name); err != nil {
		return err
	}
	if err := r.Value.Validate(name); err != nil {
		return err
	}
	err = h.steps.Record(ctx, d.core, id.Gate, posthouse.Step{Name: r.Name, Occurrence: r.Occurrence, Effect: r.Effect, Value: r.Value})
	if isOver(err) {
		d.forget(h)
		return claimLost(id)
	}
	return err
}

// parked encodes what a handler waits for, with the times of questions by the engine's clock.
func (d *Dispatcher) parked(waits []task.Wait) (json.RawMessage, error) {
	out := make([]task.Wait, len(waits))
	for i, w := range waits {
		if w.Question != nil {
			g := w.Question.Clone()
			shift(&g.ExpiresAt, d.core.Now())
			if g.Escalation != nil {
				e := *g.Escalation
				shift(&e.At, d.core.Now())
				g.Escalation = &e
			}
			if err := cmp.Or(handler.CheckName("question", g.Name), commit.ValidateGate(g, false), commit.MayOpen(d.core, g)); err != nil {
				return nil, err
			}
			w.Question = g
		}
		out[i] = w
	}
	return json.Marshal(out)
}

func shift(t *time.Time, now time.Time) {
	if !t.IsZero() {
		*t = now.Add(t.Sub(handler.Epoch))
	}
}
