package inbox

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/substitutes"
)

// A Snooze hides a gate from one person's inbox for a while. It moves no deadline and no right:
// others see the gate, and the person may still decide it.
type Snooze struct {
	By     string    // the person; required
	Actor  string    // who sent it, when an operator acts for By
	Until  time.Time // zero: until the next reminder or the escalation
	Reason string    // at most 4,000 bytes
}

// Hide records that a person hides an open gate from their inbox, and returns the gate. It comes back
// at the time, and before that with a reminder, an escalation, or [Show].
//
// It fails with [posthouse.ErrInvalid] for a time that has passed or is not before the deadline, and
// for no time where neither reminder nor escalation is to come, with [posthouse.ErrForbidden] for a
// person who does not have it in their inbox, with [posthouse.ErrVoted] for one who has voted, with
// [posthouse.ErrTooLarge] beyond 100 times a person, and like [ledger.Ledger.Decide] for a gate that
// does not wait.
func Hide(ctx context.Context, l *ledger.Ledger, gate posthouse.ID, s Snooze) (*posthouse.Gate, error) {
	return s.record(ctx, l, gate, func(tx *core.Tx, g *posthouse.Gate) (posthouse.NoticeKind, time.Time, error) {
		until, err := s.until(tx.Thread.Info.WaitingFor(gate), g, tx.At)
		return posthouse.NoticeSnooze, until, err
	})
}

// Show records that a person has a gate back that they hid, and returns the gate. Without such a gate
// it records nothing. It fails like [Hide].
func Show(ctx context.Context, l *ledger.Ledger, gate posthouse.ID, s Snooze) (*posthouse.Gate, error) {
	return s.record(ctx, l, gate, func(tx *core.Tx, g *posthouse.Gate) (posthouse.NoticeKind, time.Time, error) {
		if deciders.SnoozedUntil(g, s.By, tx.At).IsZero() {
			return "", time.Time{}, core.ErrNothing
		}
		return posthouse.NoticeUnsnooze, time.Time{}, nil
	})
}

func (s *Snooze) record(ctx context.Context, l *ledger.Ledger, gate posthouse.ID, choose func(*core.Tx, *posthouse.Gate) (posthouse.NoticeKind, time.Time, error)) (*posthouse.Gate, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	named, err := substitutes.Active(ctx, l)
	if err != nil {
		return nil, err
	}
	return commit.Assign(ctx, l.Core(), commit.GateRef{Gate: gate}, func(tx *core.Tx, g *posthouse.Gate) error {
		if err := deciders.MaySnooze(deciders.SeenBy(g, s.By, named, tx.At), s.By, tx.At); err != nil {
			return err
		}
		kind, until, err := choose(tx, g)
		if err != nil {
			return err
		}
		return commit.AddNotice(tx, g, posthouse.Notice{Kind: kind, By: s.By, Actor: s.Actor, Until: until, Reason: s.Reason})
	})
}

// validate checks what does not depend on the gate.
func (s *Snooze) validate() error {
	if err := posthouse.CheckDecider("by", s.By); err != nil {
		return err
	}
	if len(s.Reason) > posthouse.MaxText || !text.IsUTF8(s.Reason) {
		return posthouse.Invalid("reason", "must be at most %d bytes of text", posthouse.MaxText)
	}
	return posthouse.CheckPerson("actor", s.Actor)
}

// until returns when the gate comes back at the latest.
func (s *Snooze) until(w *posthouse.WaitingGate, g *posthouse.Gate, now time.Time) (until time.Time, err error) {
	if s.Until.IsZero() {
		for _, at := range []time.Time{w.RemindAt, w.EscalateAt} {
			if at.After(now) && (until.IsZero() || at.Before(until)) {
				until = at
			}
		}
		if until.IsZero() {
			return until, posthouse.Invalid("until", "is missing, and gate %s has neither reminder nor escalation to come", g.ID)
		}
		return until, nil
	}
	until = posthouse.ToMillis(s.Until)
	switch {
	case !until.After(now):
		return until, posthouse.Invalid("until", "%s has passed", until.Format(time.RFC3339))
	case until.UnixMilli() > posthouse.MaxMillis:
		return until, posthouse.Invalid("until", "is beyond the year 9999")
	case !g.ExpiresAt.IsZero() && !until.Before(g.ExpiresAt):
		return until, posthouse.Invalid("until", "%s is not before the deadline of gate %s, %s, which it does not move", until.Format(time.RFC3339), g.ID, g.ExpiresAt.Format(time.RFC3339))
	}
	return until, nil
}
