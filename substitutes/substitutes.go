package substitutes

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/substituted"
	"github.com/posthouse/posthouse/ledger"
)

// Name puts a substitution on record and returns it. By, To and Until are required; From before now
// is now. ID and At are set.
//
// It fails with [posthouse.ErrInvalid] for a period that has passed, ends before it begins or ends in
// more than 366 days, and for a person who would stand in for themselves; with
// [posthouse.ErrConflict] for a substitution of the same two at the same time, and for two people who
// would stand in for each other; with [posthouse.ErrTooLarge] beyond 1,000 in the store or 50 of a
// person. Whether the caller may act for By is not its affair: see Actor.
func Name(ctx context.Context, l *ledger.Ledger, s deciders.Substitution) (*deciders.Substitution, error) {
	s.ID = ledger.NewID(l)
	err := substituted.Append(ctx, l.Core().Core, s.By, func(table []deciders.Substitution, now time.Time) (*substituted.Change, error) {
		s.At = posthouse.ToMillis(now)
		if s.From.Before(s.At) {
			s.From = s.At
		}
		s.From, s.Until = posthouse.ToMillis(s.From), posthouse.ToMillis(s.Until)
		if err := s.Check(table, s.At); err != nil {
			return nil, err
		}
		return &substituted.Change{Named: &s, Table: append(slices.Clone(table), s)}, nil
	})
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// A Withdrawal says who ends a substitution before its time: who is away, or the substitute.
type Withdrawal struct {
	By     string // required
	Actor  string // who sent it, when an operator acts for By
	Reason string // at most 500 bytes
}

// Withdraw ends a substitution now. Decisions under it stand. It fails with
// [posthouse.ErrNotFound] for one that is not there or has ended, and with [posthouse.ErrForbidden]
// for anybody but its two people.
func Withdraw(ctx context.Context, l *ledger.Ledger, id posthouse.ID, w Withdrawal) error {
	if err := posthouse.CheckDecider("by", w.By); err != nil {
		return err
	}
	if err := posthouse.CheckPerson("actor", w.Actor); err != nil {
		return err
	}
	if len(w.Reason) > 500 || !text.IsUTF8(w.Reason) {
		return posthouse.Invalid("reason", "must be at most 500 bytes of text")
	}
	return substituted.Append(ctx, l.Core().Core, w.By, func(table []deciders.Substitution, _ time.Time) (*substituted.Change, error) {
		i := slices.IndexFunc(table, func(s deciders.Substitution) bool { return s.ID == id })
		if i < 0 {
			return nil, posthouse.NotFound("substitution", string(id))
		}
		s := table[i]
		if !posthouse.SameName(w.By, s.By) && !posthouse.SameName(w.By, s.To) {
			return nil, &posthouse.Error{
				Code: posthouse.CodeForbidden, Message: w.By + " is neither " + s.By + " nor their substitute " + s.To, Hint: "an operator may act for one of them",
			}
		}
		gone := &substituted.Withdrawal{Substitution: s, WithdrawnBy: w.By, Why: w.Reason}
		if w.Actor != "" {
			gone.WithdrawnBy = w.Actor
		}
		return &substituted.Change{Withdrawn: gone, Table: slices.Delete(slices.Clone(table), i, i+1)}, nil
	})
}

// List returns the substitutions that have not ended, in the order in which they were named: those of
// one person, or with them as the substitute; of all for an empty name.
func List(ctx context.Context, l *ledger.Ledger, person string) ([]deciders.Substitution, error) {
	all, err := substituted.Read(ctx, l.Core().Logs, l.Now())
	return slices.DeleteFunc(all, func(s deciders.Substitution) bool { return person != "" && s.By != person && s.To != person }), err
}

// Active returns the substitutions that hold now.
func Active(ctx context.Context, l *ledger.Ledger) ([]deciders.Substitution, error) {
	all, err := substituted.Read(ctx, l.Core().Logs, l.Now())
	return slices.DeleteFunc(all, func(s deciders.Substitution) bool { return !s.Active(l.Now()) }), err
}
