package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/handler"
)

// claimUse puts the claim of a task under a grant on record, before its worker hears of it.
// Gone says that the task was withdrawn meanwhile: the worker gets no claim.
func (d *Dispatcher) claimUse(ctx context.Context, h *holding, worker string) (gone bool, err error) {
	if h.gate.Call.Grant == "" {
		return false, nil
	}
	err = commit.ClaimUse(ctx, d.core, commit.PlaceOf(h.gate), WorkerPrefix+worker)
	switch {
	case err == nil:
		return false, nil
	case isOver(err):
		d.forget(h)
		return true, nil
	}
	return false, errors.Join(err, d.letGo(ctx, h)) // no worker has it, even if the claim is on record
}

// takeBack withdraws a task whose grant does not license it here and now, and reports whether it
// did. Its program asks again. A use that a worker has begun goes on, but only where its decision
// was given: a copy of the thread has the records of the original's use, and not the use.
func (d *Dispatcher) takeBack(ctx context.Context, g *posthouse.Gate) (bool, error) {
	why, never, err := d.lapsed(ctx, g)
	if why == "" && err == nil {
		why = d.unchecked(g)
	}
	if why == "" || err != nil {
		return false, err
	}
	if g.Call.Grant != "" && !never {
		x, err := d.execution(ctx, g)
		if err != nil || x != nil && hasBegun(x.Steps, g) {
			return false, err
		}
	}
	err = d.resolve(ctx, g, &commit.TaskOutcome{By: posthouse.RuntimeActor, Withdrawn: why})
	if isOver(err) {
		err = nil
	}
	return true, err
}

// lapsed returns why a task may not be given to a worker any more, "" if it may. Never says that
// it could not have been given to one before: its grant licenses nothing here.
func (d *Dispatcher) lapsed(ctx context.Context, g *posthouse.Gate) (why string, never bool, err error) {
	if g.Call.Grant == "" {
		return "", false, nil
	}
	grant, err := d.ledger.Gate(ctx, g.Call.Grant)
	if errors.Is(err, posthouse.ErrNotFound) {
		return "the approval " + string(g.Call.Grant) + " is gone", true, nil
	}
	if err != nil {
		return "", false, err
	}
	dec := grant.Decision
	switch {
	case dec == nil || grant.Uses == 0 || dec.Verdict != posthouse.Approve && dec.Verdict != posthouse.Edit:
		return "gate " + string(grant.ID) + " licenses no effect", true, nil
	case grant.Origin != "" || grant.Thread != g.Thread || grant.Branch != g.Branch:
		return "the approval was given on branch " + grant.Branch + " of thread " + grant.Thread, true, nil
	case grant.ValidFor > 0 && d.core.Now().After(dec.At.Add(grant.ValidFor)):
		return "the approval by " + dec.By + " was good until " + dec.At.Add(grant.ValidFor).Format(time.RFC3339), false, nil
	}
	if err := commit.Reconsider(d.core, grant); err != nil {
		return err.Error(), false, nil
	}
	return "", false, nil
}

// unchecked returns why the program has to be asked before a worker has a task, "" if it was. Its
// own check of the grant is code that only the program has: it takes note of the withdrawal,
// checks, and hands the task out again.
func (d *Dispatcher) unchecked(g *posthouse.Gate) string {
	age := d.core.Now().Sub(g.CreatedAt)
	if !g.Call.Checks || g.Call.Checked && age >= 0 && age < d.lease() {
		return ""
	}
	return "a worker asks for it: the program checks the approval again"
}

// hasBegun reports whether a worker has had a task of the use that a gate belongs to, without
// saying that its attempt did not act.
func hasBegun(steps []posthouse.StepRecord, g *posthouse.Gate) bool {
	within := g.Call.Use + handler.Nested
	had := map[posthouse.ID]bool{}
	for i := range steps {
		s := &steps[i]
		var u commit.UseRecord
		switch s.Name {
		case within + handler.UseFailed:
			clear(had)
		case within + handler.UseClaimed, within + handler.UseUndone:
			if json.Unmarshal(s.Value.Data, &u) == nil && u.Call == g.Call.ID {
				had[u.Gate] = s.Name == within+handler.UseClaimed
			}
		}
	}
	for _, begun := range had {
		if begun {
			return true
		}
	}
	return false
}

// wasClaimed reports whether the log has a claim of a task's gate: without one no worker has
// begun, whatever a slot says.
func (d *Dispatcher) wasClaimed(ctx context.Context, g *posthouse.Gate) (bool, error) {
	x, err := d.execution(ctx, g)
	if x == nil || err != nil {
		return err == nil, err // what cannot be found may have been claimed
	}
	for i := range x.Steps {
		var u commit.UseRecord
		s := &x.Steps[i]
		if s.Name == g.Call.Use+handler.Nested+handler.UseClaimed && json.Unmarshal(s.Value.Data, &u) == nil && u.Gate == g.ID {
			return true, nil
		}
	}
	return false, nil
}
