package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
)

// Decide records the one decision of a gate and makes its branch runnable, in one
// commit. It returns the gate with the decision. The branch of a session's gate
// ([posthouse.GateSession]) becomes done.
//
// d.By and d.Verdict are required. d.By is a person ([posthouse.CheckDecider]). The verdict Cancel is
// refused: [Ledger.Withdraw] takes a question back. Decide sets d.At. It fails
// with [posthouse.ErrDecided] or [posthouse.ErrExpired], Error.Decision being the first
// decision, with [posthouse.ErrForbidden] if the gate, its requester rule or the policy
// refuses, and with [posthouse.ErrConflict] if d.Shown is not the hash of the gate's
// entry.
//
// On a gate with a [posthouse.Quorum] this is one vote: the gate has no Decision until
// the rule is met. [posthouse.ErrVoted] for a second vote of the same person.
func (l *Ledger) Decide(ctx context.Context, gate posthouse.ID, d posthouse.Decision) (*posthouse.Gate, error) {
	if err := checkDecision(l.core, &d); err != nil {
		return nil, err
	}
	for checked := l.checkValue(ctx, gate, &d); ; {
		g, err := l.decide(ctx, gate, d, checked)
		again, ok := errors.AsType[*uncheckedValue](err)
		if !ok {
			return g, err
		}
		checked = &valueCheck{again.schema, l.core.Rules.Validate(again.schema, d.Value), checked.unread()}
	}
}

func (l *Ledger) decide(ctx context.Context, gate posthouse.ID, d posthouse.Decision, checked *valueCheck) (*posthouse.Gate, error) {
	return commit.Decide(ctx, l.core, commit.GateRef{Gate: gate}, func(tx *core.Tx, g *posthouse.Gate) (*posthouse.Decision, error) {
		if !g.ExpiresAt.IsZero() && !tx.At.Before(g.ExpiresAt) {
			return commit.Expired(g), nil
		}
		if _, err := commit.RecordEscalation(tx, g); err != nil {
			return nil, err
		}
		if err := g.CheckWord(d.Verdict); err != nil {
			return nil, err
		}
		if err := commit.CheckOutcomeAnswer(tx, g, d.Verdict); err != nil {
			return nil, err
		}
		one := d
		one.Verdict = g.Recorded(d.Verdict)
		if err := l.substitute(tx, g, &one); err != nil {
			return nil, err
		}
		if err := mayDecide(l.core, g, &one, checked, tx.At); err != nil {
			return nil, err
		}
		if err := askPolicy(tx, l.core, g, &one); err != nil {
			return nil, err
		}
		if g.TakesVote(one.Verdict) {
			return commit.AddVote(tx, g, &one)
		}
		return &one, nil
	})
}

func checkDecision(c *commit.Committer, d *posthouse.Decision) error {
	d.Requesters, d.Signal, d.Successor, d.BeganAt, d.Notes, d.Unknown = nil, 0, "", time.Time{}, nil, false // the Ledger sets them
	if d.Verdict == posthouse.Cancel {
		return deciders.NotDecided()
	}
	if err := posthouse.CheckDecider("by", d.By); err != nil {
		return err
	}
	if err := posthouse.CheckPerson("actor", d.Actor); err != nil {
		return err
	}
	switch {
	case len(d.Reason) > posthouse.MaxText || !text.IsUTF8(d.Reason):
		return posthouse.Invalid("reason", "must be at most %d bytes of text", posthouse.MaxText)
	case !d.Verdict.Info().Given:
		return posthouse.Invalid("verdict", "%q is not one of %s", d.Verdict, posthouse.JoinVerdicts(posthouse.GateVerdicts(), ", "))
	case !d.Verdict.TakesValue() && len(d.Value) > 0:
		return posthouse.Invalid("value", "goes with %s, not with %s", posthouse.JoinVerdicts(posthouse.ValueVerdicts(), " or "), d.Verdict)
	case d.Verdict.TakesValue() && len(d.Value) == 0:
		return posthouse.Invalid("value", "is required to %s; null is a value", d.Verdict)
	case len(d.Value) > c.Config.MaxState:
		return posthouse.OverMaxState("value", len(d.Value), c.Config.MaxState)
	}
	if len(d.Value) > 0 {
		d.Value = json.RawMessage(slices.Clone(d.Value))
		return posthouse.CheckStrict("value", d.Value)
	}
	return nil
}

// A valueCheck is what a schema said of a decided value, and the program that asked.
type valueCheck struct {
	schema json.RawMessage
	err    error
	read   error // the program cannot read the value as it is written
}

func (v *valueCheck) unread() error {
	if v == nil {
		return nil
	}
	return v.read
}

// checkValue checks a decided value against its gate's schema, and reads it as the program that
// asked will, before the thread is locked: both are foreign code, and must not hold up the thread.
// A gate that cannot be read is refused where it is decided.
func (l *Ledger) checkValue(ctx context.Context, gate posthouse.ID, d *posthouse.Decision) *valueCheck {
	if len(d.Value) == 0 {
		return nil
	}
	g, err := l.Gate(ctx, gate)
	if err != nil {
		return nil
	}
	v := &valueCheck{schema: g.Schema, read: l.core.Answers.Check(g, d)}
	if len(g.Schema) > 0 && l.core.Rules.Validate != nil {
		v.err = l.core.Rules.Validate(g.Schema, d.Value)
	}
	return v
}

// An uncheckedValue says against which schema a value is to be checked, by who holds no lock.
type uncheckedValue struct{ schema json.RawMessage }

// Error implements error.
func (*uncheckedValue) Error() string { return "the value was not checked against the gate's schema" }

// of returns what was found of the schema of a gate. If it is another, or the gate could not be
// read before, that is an [uncheckedValue]: the thread is locked here.
func (v *valueCheck) of(g *posthouse.Gate) (found error, unchecked error) {
	if v != nil && bytes.Equal(v.schema, g.Schema) {
		return v.err, nil
	}
	return nil, &uncheckedValue{slices.Clone(g.Schema)}
}

func mayDecide(c *commit.Committer, g *posthouse.Gate, d *posthouse.Decision, checked *valueCheck, at time.Time) error {
	right, _ := deciders.Right(g, d.By, at)
	d.For, d.Trail = right.For, 0
	if err := deciders.MayGive(g, d, at); err != nil {
		return err
	}
	if err := checkShown(g, d.Shown); err != nil {
		return err
	}
	if len(g.Schema) > 0 && len(d.Value) > 0 {
		if c.Rules.Validate == nil {
			return commit.UncheckedError(g)
		}
		err, unchecked := checked.of(g)
		if unchecked != nil {
			return unchecked
		}
		if err != nil {
			return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "value", Message: "does not satisfy the gate's schema", Err: err}
		}
	}
	if err := checked.unread(); err != nil && len(d.Value) > 0 {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "value", Message: "does not say what the program would take", Err: err,
			Hint: "write it in the form that the error names",
		}
	}
	return nil
}

// askPolicy asks the Ledger's policy. To do an effect again is a renewed approval: it is asked as for an
// approval of the gate that licensed the effect.
func askPolicy(tx *core.Tx, c *commit.Committer, g *posthouse.Gate, d *posthouse.Decision) error {
	if c.Rules.Policy == nil {
		return nil
	}
	asked, given := g.Clone(), d.Clone() // clones: a policy must not change the record
	if g.AsksOutcome() && g.Said(d.Verdict) == posthouse.Redo {
		given.Verdict = posthouse.Approve
		if g.Attempt != nil {
			under, err := tx.Core.Logs.Gate(tx.Ctx, g.Attempt.Under)
			if err != nil {
				return err
			}
			asked = under.Clone()
			asked.Decision, asked.Votes = nil, nil
		}
	}
	return c.Rules.Policy(asked, given)
}
