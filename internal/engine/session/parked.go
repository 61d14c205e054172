package session

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// TimerSoon returns when the first of the gates is over, if the run is to wait for that
// itself. The zero time says that one of them is no timer, or the first is due too late.
func (s *Session) TimerSoon(gates []posthouse.Gate) (first time.Time) {
	for i := range gates {
		if gates[i].Kind != posthouse.GateTimer {
			return time.Time{}
		}
		if at := gates[i].ExpiresAt; i == 0 || at.Before(first) {
			first = at
		}
	}
	if first.Sub(s.ledger.Now()) > s.opt.Hold {
		return time.Time{}
	}
	return first
}

// Parked reports whether the branch waits.
func (s *Session) Parked(ctx context.Context) (bool, error) {
	info, err := s.ledger.Thread(ctx, s.thread)
	if err != nil {
		return false, s.Unanswered(err)
	}
	b, _ := info.Branch(s.branch)
	return b.Status == posthouse.StatusWaiting, nil
}

// foundParked is [Session.Parked] as the claim found it, which spares a call, unless this run has
// gone on. A decision since then wakes the thread again.
func (s *Session) foundParked(ctx context.Context) (bool, error) {
	if found, head := s.claim.Found(), s.Head(); found != nil && head != nil {
		if b, ok := found.Branch(s.branch); ok && b.Head == head.ID && b.Seq == head.Seq {
			return b.Status == posthouse.StatusWaiting, nil
		}
	}
	return s.Parked(ctx)
}

// Undecided returns the gates of a branch that waits for all of them still. Executed
// again, its code would only ask again. It returns nil if the run is to wait itself.
func (s *Session) Undecided(ctx context.Context) (waiting []posthouse.Gate, err error) {
	if parked, err := s.foundParked(ctx); !parked || err != nil {
		return nil, err
	}
	for g, err := range s.ledger.Gates(ctx, ledger.GateQuery{Thread: s.thread, All: true}) {
		switch {
		case err != nil:
			return nil, err
		case g.Branch != s.branch:
		case g.Kind == posthouse.GateThread: // that thread may have gone on
			return nil, nil
		case !g.ExpiresAt.IsZero() && !s.ledger.Now().Before(g.ExpiresAt):
			return nil, nil
		default:
			waiting = append(waiting, *g)
		}
	}
	if len(waiting) == 0 || !s.TimerSoon(waiting).IsZero() {
		return nil, nil
	}
	return waiting, nil
}
