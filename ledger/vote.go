package ledger

import (
	"context"
	"slices"
	"time"

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
		if err := mayDelegate(g, &d, tx.At); err != nil {
			return err
		}
		return commit.AddAssignment(tx, g, posthouse.Assignment{By: d.By, Actor: d.Actor, To: []string{d.To}, Reason: d.Reason})
	})
}

// substitute assigns the gate to a decider who has no right of their own and stands in for somebody
// who has one. The assignment is on record with the decision, or not at all.
func (l *Ledger) substitute(tx *core.Tx, g *posthouse.Gate, d *posthouse.Decision) error {
	if _, own := deciders.Right(g, d.By, tx.At); own || d.Verdict == posthouse.Cancel {
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

func mayDelegate(g *posthouse.Gate, d *posthouse.Delegation, at time.Time) error {
	if err := deciders.MayDelegate(g, d.By, at); err != nil {
		return err
	}
	have, _ := deciders.Right(g, d.By, at)
	switch {
	case d.To == d.By, slices.Contains(have.Via, d.To):
		return posthouse.Invalid("to", "%s had this right before: it would go in a circle", d.To)
	case g.Excluded(d.Actor):
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: d.Actor + " asked for this and cannot choose who decides it", Hint: "reject it, or have somebody else delegate it"}
	case g.Excluded(d.To):
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: d.To + " asked for this and cannot be given it", Hint: "somebody else has to decide"}
	}
	if _, has := deciders.Right(g, d.To, at); has {
		return posthouse.Invalid("to", "%s may decide gate %s already", d.To, g.ID)
	}
	return nil
}
