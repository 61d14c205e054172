package session

import (
	"context"
	"errors"
	"sync"

	"github.com/posthouse/posthouse"
)

// A guard ends the context of something that runs when the lease may have lapsed. While an
// effect with its use on record acts within it, it waits.
type guard struct {
	outer  *guard // around it
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	effects int   // that act within it
	lapsed  error // why its context ended, or is to end after the effects
	ended   bool  // its context has
}

type guardKey struct{}

func guardOf(ctx context.Context) *guard {
	g, _ := ctx.Value(guardKey{}).(*guard)
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
func (l Lease) Hold(ctx context.Context) *Hold {
	s := l.s
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
	h.Context = context.WithValue(own, guardKey{}, g)
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
func (l Lease) WhileHeld(ctx context.Context) (held context.Context, over func(error) error) {
	s := l.s
	h := s.Lease().Hold(ctx)
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
func (l Lease) Lapsed() bool { return l.s.lapsed.Load() != nil }

func (g *guard) end(why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lapsed = why
	if g.effects == 0 {
		g.ended = true
		g.cancel(why)
	}
}

// EffectBegins keeps the guards around an effect from ending its context.
func EffectBegins(ctx context.Context) {
	for g := guardOf(ctx); g != nil; g = g.outer {
		g.mu.Lock()
		g.effects++
		g.mu.Unlock()
	}
}

// EffectEnded lets the guards around an effect end its context again, if they were to and the
// claim cannot be confirmed.
func (l Lease) EffectEnded(ctx context.Context) {
	s := l.s
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
			ok := s.Lease().Confirm(ctx) == nil
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
