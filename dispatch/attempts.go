package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/dispatch/internal/hints"
	"github.com/posthouse/posthouse/dispatch/internal/tasklog"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// attempts end by a worker's verdict, or because the worker is gone.
type attempts struct {
	ledger *ledger.Ledger
	core   *commit.Committer
	log    *tasklog.Log
	slots  *claims.Slots
	hints  *hints.Queue
	finder *finder
	logger *slog.Logger

	retries, failed atomic.Uint64 // for Gauges
}

// isOver reports whether an error says that a task's gate is decided.
func isOver(err error) bool {
	return errors.Is(err, posthouse.ErrDecided) || errors.Is(err, posthouse.ErrExpired) || errors.Is(err, posthouse.ErrConflict)
}

// resolve records the outcome of an attempt, and adds the task that goes on from there.
func (a *attempts) resolve(ctx context.Context, g *posthouse.Gate, o *commit.TaskOutcome) error {
	_, next, err := commit.ResolveTask(ctx, a.core, commit.RefOf(g), o)
	if err != nil {
		return err
	}
	switch {
	case o.Failed != "":
		a.failed.Add(1)
	case o.Next != nil && o.Next.Attempt > g.Call.Attempt:
		a.retries.Add(1)
	}
	a.hints.Drop(g.ID)
	if next != nil {
		a.finder.add(next, false)
	}
	return nil
}

// withdraw ends a task before a worker has it. Its program asks again.
func (a *attempts) withdraw(ctx context.Context, g *posthouse.Gate, why string) error {
	err := a.resolve(ctx, g, &commit.TaskOutcome{By: posthouse.RuntimeActor, Withdrawn: why})
	if isOver(err) {
		return nil
	}
	return err
}

// withdrawUnnamed withdraws a task that [tasklog.Log.WithGrant] gave its grant, so that its program
// hands it out under today's rules, and reports whether it did. One that a worker has stays, and
// the log says so from now on.
func (a *attempts) withdrawUnnamed(ctx context.Context, g *posthouse.Gate) (bool, error) {
	slot, err := a.slots.Read(ctx, g)
	if err != nil {
		return false, err
	}
	if !slot.IsClaimed(g) {
		return true, a.withdraw(ctx, g, "an earlier version handed it out without naming its approval")
	}
	claimed, err := a.log.WasClaimed(ctx, g)
	if err == nil && !claimed {
		err = commit.ClaimUse(ctx, a.core, commit.RefOf(g), WorkerPrefix+slot.Worker)
	}
	if isOver(err) {
		return true, nil
	}
	return false, err
}

// fail ends an attempt after its worker has gone. The next one begins at once. On error the
// caller must retry.
func (a *attempts) fail(ctx context.Context, g *posthouse.Gate, why string) error {
	err := a.tryFail(ctx, g, why)
	if err == nil || isOver(err) {
		return nil
	}
	a.logger.Warn("cannot end an attempt", "gate", g.ID, "why", why, "error", err)
	return err
}

func (a *attempts) tryFail(ctx context.Context, g *posthouse.Gate, why string) error {
	o := &commit.TaskOutcome{By: posthouse.RuntimeActor, Why: why, Unknown: g.Call.Grant != ""}
	mayRepeat := true
	if g.Call.Once() {
		claimed, err := a.log.WasClaimed(ctx, g)
		if err != nil {
			return err
		}
		mayRepeat = !claimed
	}
	if mayRepeat {
		o.Next = commit.NextAttempt(g.Call, a.core.Now(), why, time.Millisecond)
	}
	if o.Next == nil {
		o.Failed = why
	}
	return a.resolve(ctx, g, o)
}

// checkRepeated returns nil if the task has this claim's verdict already: its answer was lost on
// the way, or another call brought it. Otherwise the claim is lost.
func (a *attempts) checkRepeated(ctx context.Context, id task.ClaimID, v *task.Verdict) error {
	g, err := a.ledger.Gate(ctx, id.Gate)
	if errors.Is(err, posthouse.ErrNotFound) {
		return claims.Lost(id)
	}
	if err != nil {
		return err
	}
	if g.Call == nil || g.Decision == nil {
		return claims.Lost(id)
	}
	slot, err := a.slots.Read(ctx, g)
	// A slot that the next attempt has does not say who made this one. Then the content tells.
	named := slot.Gate == id.Gate
	p := task.PassOf(ctx)
	switch {
	case claims.IsUnreadable(err):
		return claims.Lost(id)
	case err != nil:
		return err
	case named && slot.Fence != id.Fence, named && g.Decision.By != WorkerPrefix+slot.Worker,
		named && id.Session != slot.Session && id.Session != "", p != nil && g.Decision.By != WorkerPrefix+p.Name:
		return claims.Lost(id)
	}
	same, err := a.isVerdict(ctx, g, v)
	if err == nil && !same {
		return claims.Lost(id)
	}
	return err
}
