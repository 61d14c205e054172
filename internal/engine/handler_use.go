package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/ledger"
)

// awaitUse asks what there is to ask before an effect of a task's handler may run: what became of
// an earlier attempt, or whether its approval still holds. It returns nil once that is over: the
// handler finds it, and its engine judges it again.
func (t *Task) awaitUse(ctx context.Context, within string, u *handler.Use) error {
	s := t.session
	all, err := ledger.Executions(ctx, s.ledger, s.Head())
	if err != nil {
		return s.Unanswered(err)
	}
	have := license.Task{Core: s.ledger.Core(), Thread: s.thread, Branch: s.branch, Within: within}
	if x := all[t.Key()]; x != nil {
		have.Steps, have.Gates = x.Steps, x.Gates
	}
	if have.State(u).Result != nil {
		return nil
	}
	_, err = have.Settle(t.Scope(ctx, within+nested+u.Name, u.Occurrence), t.Gates(), u, nil)
	for _, answer := range []error{posthouse.ErrForbidden, posthouse.ErrExpired, posthouse.ErrCancelled, posthouse.ErrNotFound} {
		if errors.Is(err, answer) {
			return nil
		}
	}
	return s.Unanswered(err)
}

// awaitEdit asks the question about edited content, unless the decision that edited it is enough
// for that one, too. That is then put on record.
func (t *Task) awaitEdit(ctx context.Context, edited posthouse.ID, g posthouse.Gate) error {
	decided, err := t.session.Gate(ctx, edited)
	if err != nil {
		return err
	}
	settled, replaced, err := t.Gates().OfEdit(ctx, decided)
	if err != nil {
		return err
	}
	if _, before := t.Gates().Asked(ctx, g); !before && settled == nil && !replaced {
		g.RequestedBy = cmp.Or(g.RequestedBy, Sender(ctx))
		why := license.JudgeEdit(t.session.ledger.Core(), &g, decided)
		if why == nil {
			_, err := t.Gates().Settle(ctx, license.EditDecided(g, decided), nil)
			return err
		}
		g.Note, g.Supersedes = license.ProposedAgain(decided, why), decided.ID
	}
	_, err = t.Gates().Ask(ctx, g)
	return err
}
