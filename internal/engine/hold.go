package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/posthouse/posthouse"
)

// persistClaim puts the claim on record before something acts, unless a commit has. It
// fails if somebody went on with the thread since the session began. Nobody else can run
// a new branch, which needs no claim on record.
func (s *Session) persistClaim(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Err(); err != nil {
		return err
	}
	if s.Head() != nil && !s.claimPersisted {
		wrote, err := s.claim.Persist(context.WithoutCancel(ctx))
		if err == nil && wrote {
			err = s.checkUnmoved(ctx)
		}
		if s.claimPersisted = err == nil; err != nil {
			s.markFailed(err)
			return err
		}
	}
	return s.confirmLocked(ctx) // the process may have been frozen meanwhile
}

// Confirm makes sure that the run still has its thread, before a node, a handler, an
// attempt of a step or an effect begins: if the process was away for longer than its
// lease, by a write or read that begins after it was back. Otherwise it asks nobody. An
// error ends the session: another process has the thread by now, or nobody can say. What
// the program makes of the error is not on record then: it has not failed.
func (s *Session) Confirm(ctx context.Context) error {
	if err := s.Err(); err != nil || s.claim == nil || s.claim.Sure() {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Err(); err != nil {
		return err
	}
	return s.confirmLocked(ctx)
}

// confirmLocked is Confirm for callers that hold s.mu.
func (s *Session) confirmLocked(ctx context.Context) error {
	if s.claim == nil {
		return nil
	}
	err := s.claim.Confirm(context.WithoutCancel(ctx))
	if err != nil {
		s.markFailed(err)
	}
	return err
}

// A guard ends the context of something that runs when the lease may have lapsed. While an
// effect acts within it, whose use is on record, it waits.
type guard struct {
	outer  *guard // around it
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	effects int   // that act within it
	lapsed  error // why its context ended, or is to end after the effects
	ended   bool  // its context has
}

func guardOf(ctx context.Context) *guard {
	g, _ := ctx.Value(keyGuard).(*guard)
	return g
}

// A Hold is a context that ends when a session's lease may have lapsed, with that as its
// cause. Several things may run with it, one after another.
type Hold struct {
	Context context.Context
	around  context.Context
	session *Session
	guard   *guard // nil: the lease cannot lapse
	unhook  func() bool
}

// Hold returns a context for what runs while the lease holds. The Hold must be Freed.
func (s *Session) Hold(ctx context.Context) *Hold {
	h := &Hold{Context: ctx, around: ctx, session: s}
	lease := context.Context(nil)
	if s.claim != nil {
		lease = s.claim.Held()
	}
	if lease == nil {
		return h
	}
	own, cancel := context.WithCancelCause(ctx)
	g := &guard{outer: guardOf(ctx), cancel: cancel}
	h.guard, h.unhook = g, context.AfterFunc(lease, func() { g.end(context.Cause(lease)) })
	h.Context = context.WithValue(own, keyGuard, g)
	return h
}

// Serves reports whether something else that is to run with ctx may run with the Hold.
func (h *Hold) Serves(ctx context.Context) bool {
	return h != nil && h.around == ctx && (h.guard == nil || !h.guard.due())
}

// Free ends the context.
func (h *Hold) Free() {
	if h != nil && h.guard != nil {
		h.unhook()
		h.guard.cancel(nil)
	}
}

// Over is called with the error of what ran with the context. An error of something that
// was stopped because the lease may have lapsed stops the session: it is no failure, and
// is not recorded.
func (h *Hold) Over(err error) error {
	if err == nil || h.guard == nil || errors.Is(err, posthouse.ErrWaiting) {
		return err
	}
	g := h.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		return err
	}
	h.session.lapsed.CompareAndSwap(nil, &g.lapsed)
	return WithCause(g.lapsed, err)
}

// WhileHeld is Hold for one thing that runs: over is Over, and Free.
func (s *Session) WhileHeld(ctx context.Context) (held context.Context, over func(error) error) {
	h := s.Hold(ctx)
	return h.Context, func(err error) error {
		defer h.Free()
		return h.Over(err)
	}
}

// due reports whether the guard's context has ended, or is to.
func (g *guard) due() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lapsed != nil
}

// Lapsed reports whether something was stopped because the lease may have lapsed.
func (s *Session) Lapsed() bool { return s.lapsed.Load() != nil }

func (g *guard) end(why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lapsed = why
	if g.effects == 0 {
		g.ended = true
		g.cancel(why)
	}
}

// actBegins keeps the guards around an effect from ending its context.
func actBegins(ctx context.Context) {
	for g := guardOf(ctx); g != nil; g = g.outer {
		g.mu.Lock()
		g.effects++
		g.mu.Unlock()
	}
}

// actEnded lets the guards around an effect end its context again, if they were to and the
// claim cannot be confirmed.
func (s *Session) actEnded(ctx context.Context) {
	var sure *bool
	for g := guardOf(ctx); g != nil; g = g.outer {
		g.mu.Lock()
		g.effects--
		due := g.effects == 0 && g.lapsed != nil && !g.ended
		g.mu.Unlock()
		if !due {
			continue
		}
		if sure == nil {
			ok := s.Confirm(ctx) == nil
			sure = &ok
		}
		g.mu.Lock()
		if *sure {
			g.lapsed = nil
		} else {
			g.ended = true
			g.cancel(g.lapsed)
		}
		g.mu.Unlock()
	}
}
