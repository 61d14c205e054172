package ledger

import (
	"cmp"
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/substituted"
)

// Delegate records that an assignee hands a gate to another person, who then decides in
// their place: Decision.For names the assignee. The gate's record does not change.
//
// It fails with [posthouse.ErrForbidden] if d.By may not decide the gate or d.To may
// not be given it. It fails with [posthouse.ErrInvalid] if d.To has or had the right
// already, or the gate is assigned to no one. It fails with [posthouse.ErrVoted] after
// a vote, and like [Ledger.Decide] for a gate that does not wait.
func (l *Ledger) Delegate(ctx context.Context, gate posthouse.ID, d posthouse.Delegation) (*posthouse.Gate, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return commit.Assign(ctx, l.core, commit.GateRef{Gate: gate}, func(tx *core.Tx, g *posthouse.Gate) error {
		if !g.ExpiresAt.IsZero() && !tx.At.Before(g.ExpiresAt) {
			return deciders.MayDelegate(g, d.By, tx.At)
		}
		if _, err := commit.RecordEscalation(tx, g); err != nil {
			return err
		}
		if err := deciders.MayHand(g, &d, tx.At); err != nil {
			return err
		}
		return commit.AddAssignment(tx, g, posthouse.Assignment{By: d.By, Actor: d.Actor, To: []string{d.To}, Reason: d.Reason})
	})
}

// TakeBack records that a person takes back the right to decide a gate that they handed on with
// [Ledger.Delegate], also if it was handed on further since. Of several delegations it is the newest
// in force, with d.To the newest to that person. A vote or decision that comes first stands.
//
// It fails with [posthouse.ErrVoted] if the right was used, with [posthouse.ErrConflict] if there is
// nothing to take back, with [posthouse.ErrForbidden] for a requester, and like [Ledger.Decide] for a
// gate that does not wait.
func (l *Ledger) TakeBack(ctx context.Context, gate posthouse.ID, d posthouse.Delegation) (*posthouse.Gate, error) {
	named := d
	named.To = cmp.Or(d.To, d.By)
	if err := named.Validate(); err != nil {
		return nil, err
	}
	return commit.Assign(ctx, l.core, commit.GateRef{Gate: gate}, func(tx *core.Tx, g *posthouse.Gate) error {
		if g.ExpiresAt.IsZero() || tx.At.Before(g.ExpiresAt) {
			if _, err := commit.RecordEscalation(tx, g); err != nil {
				return err
			}
		}
		a, err := deciders.MayTakeBack(g, &d, tx.At)
		if err != nil {
			return err
		}
		return commit.AddAssignment(tx, g, posthouse.Assignment{By: d.By, Actor: d.Actor, To: []string{d.By}, Reason: d.Reason, TakesBack: a.Seq})
	})
}

// substitute assigns the gate to a decider who has no right of their own and stands in for somebody
// who has one. The assignment is on record with the decision, or not at all.
func (l *Ledger) substitute(tx *core.Tx, g *posthouse.Gate, d *posthouse.Decision) error {
	if _, own := deciders.Right(g, d.By, tx.At); own {
		return nil
	}
	named, err := substituted.Read(tx.Ctx, l.core.Logs, tx.At)
	if err != nil || len(named) == 0 {
		return err
	}
	a, err := deciders.Substitute(g, d.By, named, tx.At)
	if a == nil || err != nil {
		return err
	}
	return commit.AddAssignment(tx, g, *a)
}
