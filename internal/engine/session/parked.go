package session

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
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

// RoundUp rounds up to milliseconds, which is what can be recorded.
func RoundUp(at time.Time) time.Time {
	if r := at.Truncate(time.Millisecond); r.Before(at) {
		return r.Add(time.Millisecond)
	}
	return at
}

// delayStart has a draft's checkpoint, which is the run's first, wait for the start of the run.
// Callers hold s.mu.
func (s *Session) delayStart(d *ledger.Draft) {
	at := s.opt.StartAt
	s.opt.StartAt = time.Time{}
	if !d.Checkpoint.Status.Runnable() || !at.After(s.ledger.Now()) {
		return // there is nothing to start, or no time to wait for
	}
	d.Checkpoint.Status = posthouse.StatusWaiting
	d.Gates = append(d.Gates, posthouse.Gate{
		Name: posthouse.StartTimer, Kind: posthouse.GateTimer, Branch: s.branch, ExpiresAt: RoundUp(at),
		Text: "the run starts at " + at.UTC().Format(time.RFC3339),
	})
}

// A Start says whether a run may start.
type Start int

const (
	Started Start = iota // it has started, or may
	Delayed              // it waits for its start
	Refused              // a person cancelled the wait: it is not to start
)

// mayDelay reports whether a checkpoint may wait for the start of a run: it takes an input, or is a fork of
// one that does. It spares a read of the gate of each one that asks.
func mayDelay(h *posthouse.Header) bool {
	if h.Status != posthouse.StatusWaiting || len(h.Gates) != 1 {
		return false
	}
	return h.Kind == posthouse.KindInput || h.Kind == posthouse.KindFork || h.Kind == posthouse.KindEvent && h.Parent == ""
}

// Start tells whether the run at the head may start. A wait that is over is put on record as over.
func (s *Session) Start(ctx context.Context) (Start, error) {
	h := s.Head()
	if h == nil || !mayDelay(h) {
		return Started, nil
	}
	g, err := s.ledger.Gate(ctx, h.Gates[0])
	if errors.Is(err, posthouse.ErrNotFound) {
		return Started, nil
	}
	switch {
	case err != nil:
		return Started, s.Unanswered(err)
	case !g.DelaysStart():
		return Started, nil
	case g.Decision == nil && s.ledger.Now().Before(g.ExpiresAt):
		return Delayed, nil
	case g.Decision == nil:
		_, err := commit.Expire(ctx, s.ledger.Core(), g.ID)
		if errors.Is(err, posthouse.ErrDecided) || errors.Is(err, posthouse.ErrExpired) {
			err = nil
		}
		return Started, err
	case g.Decision.Verdict == posthouse.Cancel && !g.Withdrawn():
		return Refused, nil
	}
	return Started, nil
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
		case g.DelaysStart() && s.ledger.Now().Before(g.ExpiresAt): // nothing has begun that could wait
			return append(waiting, *g), nil
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
