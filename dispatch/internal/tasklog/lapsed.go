package tasklog

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// WhyWithdraw returns why a task is to be withdrawn instead of given to a worker, "" if a worker
// may have it: its grant does not license it here and now. The program asks again then. A use that
// a worker has begun goes on, but only where its decision was given: a copy of the thread has the
// records of the original's use, and not the use.
func (l *Log) WhyWithdraw(ctx context.Context, g *posthouse.Gate) (string, error) {
	if g.Call.Grant == "" && !g.Call.Checks {
		return "", nil
	}
	why, never, err := l.lapsed(ctx, g)
	if why == "" && err == nil {
		why = l.unchecked(g)
	}
	if why == "" || err != nil {
		return "", err
	}
	if g.Call.Grant != "" && !never {
		x, err := l.Execution(ctx, g)
		if err != nil || useOf(x, g).HasClaim(g.Call.ID) { // a worker has had it, and has not said that nothing happened
			return "", err
		}
	}
	return why, nil
}

// lapsed returns why a task may not be given to a worker any more, "" if it may. Never says that
// it could not have been given to one before: its grant licenses nothing here.
func (l *Log) lapsed(ctx context.Context, g *posthouse.Gate) (why string, never bool, err error) {
	if g.Call.Grant == "" {
		return "", false, nil
	}
	grant, err := l.ledger.Gate(ctx, g.Call.Grant)
	if errors.Is(err, posthouse.ErrNotFound) {
		return "the approval " + string(g.Call.Grant) + " is gone", true, nil
	}
	if err != nil {
		return "", false, err
	}
	dec := grant.Decision
	switch {
	case dec == nil || grant.Uses == 0 || !dec.Verdict.IsYes():
		return "gate " + string(grant.ID) + " licenses no effect", true, nil
	case grant.Origin != "" || grant.Thread != g.Thread || grant.Branch != g.Branch:
		return "the approval was given on branch " + grant.Branch + " of thread " + grant.Thread, true, nil
	case grant.PastValidity(l.core.Now()):
		x, err := l.Execution(ctx, g)
		if err != nil {
			return "", false, err
		}
		if until := useOf(x, g).ValidUntil(grant); l.core.Now().After(until) { // else people had it done again since
			return "the approval by " + dec.By + " was good until " + until.Format(time.RFC3339), false, nil
		}
	}
	if err := l.core.Rules.Reconsider(grant); err != nil {
		return err.Error(), false, nil
	}
	why, err = l.elsewhere(ctx, g)
	return why, why != "", err
}

// elsewhere returns why a task from before its thread was imported, or the store put back, may not be
// given to a worker: one may have had it in the other store, or in what was lost. One that happens once
// for its key may, after a store was put back.
func (l *Log) elsewhere(ctx context.Context, g *posthouse.Gate) (why string, err error) {
	info, err := l.core.Logs.Thread(ctx, g.Thread)
	switch {
	case err != nil:
		return "", err
	case g.Seq < info.NewestSignal(posthouse.SignalImported):
		return "thread " + g.Thread + " was imported after it was opened", nil
	case g.Seq < info.NewestSignal(posthouse.SignalPutBack) && g.Call.Effect != posthouse.EffectWrite:
		return "the store was put back after it was opened", nil
	}
	return "", nil
}

// unchecked returns why the program has to be asked before a worker has a task, "" if it was. Its
// own check of the grant is code that only the program has: it takes note of the withdrawal,
// checks, and hands the task out again.
func (l *Log) unchecked(g *posthouse.Gate) string {
	age := l.core.Now().Sub(g.CreatedAt)
	if !g.Call.Checks || g.Call.Checked && age >= 0 && age < l.core.Config.LeaseTTL {
		return ""
	}
	return "a worker asks for it: the program checks the approval again"
}

// useOf returns the use that a task belongs to, as an execution, which may be nil, has it on record.
func useOf(x *threadlog.Execution, g *posthouse.Gate) *effect.Use {
	if x == nil {
		return &effect.Use{}
	}
	steps := make([]*posthouse.StepRecord, len(x.Steps))
	for i := range x.Steps {
		steps[i] = &x.Steps[i]
	}
	return effect.Read(g.Call.Use, steps, x.Gates)
}
