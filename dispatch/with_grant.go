package dispatch

import (
	"context"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/handler"
)

// withGrant returns a task with the grant that it acts under. An earlier version handed tasks out
// under a grant without naming it, and recorded that the use did not act once it waited for the
// worker. Such a task is under the grant of the use that its name is within.
func (d *Dispatcher) withGrant(ctx context.Context, g *posthouse.Gate) (*posthouse.Gate, error) {
	if g.Call == nil || g.Call.Grant != "" || !strings.Contains(g.Name, handler.Nested) {
		return g, nil
	}
	x, err := d.execution(ctx, g)
	if x == nil || err != nil {
		return g, err
	}
	var of *posthouse.StepRecord
	use := ""
	for i := range x.Steps {
		s := &x.Steps[i]
		call, is := strings.CutSuffix(s.Name, handler.Nested+handler.UseReleased)
		if is && s.Grant != "" && strings.HasPrefix(g.Name, call+handler.Nested) && (of == nil || s.Seq > of.Seq) {
			of, use = s, call
		}
	}
	if of == nil {
		return g, nil
	}
	named, c := g.Clone(), *g.Call
	c.Grant, c.Use, c.Effect = of.Grant, use, of.Effect
	named.Call = &c
	return named, nil
}

// takeUnnamed takes back a task that [Dispatcher.withGrant] gave its grant, so that its program
// hands it out under today's rules, and reports whether it did. One that a worker has stays, and
// the log says so from now on.
func (d *Dispatcher) takeUnnamed(ctx context.Context, g *posthouse.Gate) (bool, error) {
	r, _, err := d.readSlot(ctx, g)
	if err != nil {
		return false, err
	}
	if r.Gate == g.ID && r.Session != "" {
		claimed, err := d.wasClaimed(ctx, g)
		if err == nil && !claimed {
			err = commit.ClaimUse(ctx, d.core, commit.PlaceOf(g), WorkerPrefix+r.Worker)
		}
		if isOver(err) {
			return true, nil
		}
		return false, err
	}
	err = d.resolve(ctx, g, &commit.TaskOutcome{By: posthouse.RuntimeActor, Withdrawn: "an earlier version handed it out without naming its approval"})
	if isOver(err) {
		err = nil
	}
	return true, err
}
