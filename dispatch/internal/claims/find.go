package claims

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/sessions"
	"github.com/posthouse/posthouse/task"
)

// Find returns the caller's claim and its task's slot, also a claim that its session has from
// another engine. [posthouse.ErrConflict] for one that is lost, or is not the caller's.
func (a *Claims) Find(ctx context.Context, id task.ClaimID) (*Claim, Slot, error) {
	c, lost := a.known(id)
	if lost {
		return nil, Slot{}, Lost(id)
	}
	g, err := a.gateOf(ctx, id, c)
	if err != nil {
		return nil, Slot{}, err
	}
	if g.Call == nil {
		return nil, Slot{}, posthouse.Invalid("gate", "%s is not a task's", id.Gate)
	}
	if g.Decision != nil {
		return nil, Slot{}, Lost(id)
	}
	slot, err := a.slots.Read(ctx, g)
	if err != nil {
		return nil, slot, err
	}
	if slot.Fence != id.Fence || !slot.IsClaimed(g) || c != nil && c.ID.Session != slot.Session {
		return nil, slot, Lost(id)
	}
	ok, err := a.sessions.MayClaim(ctx, id, slot.Session)
	if errors.Is(err, posthouse.ErrNotFound) || err == nil && !ok {
		return nil, Slot{}, Lost(id)
	}
	if err != nil {
		return nil, Slot{}, err
	}
	if c != nil {
		return c, slot, nil
	}
	id.Session = slot.Session
	c, err = a.TrackFor(ctx, a.New(id, g))
	if errors.Is(err, posthouse.ErrNotFound) || IsUnreadable(err) {
		return nil, slot, Lost(id)
	}
	return c, slot, err // any other error says that the store did not answer
}

// gateOf returns the gate of a claim, which is tracked here or nil.
func (a *Claims) gateOf(ctx context.Context, id task.ClaimID, c *Claim) (*posthouse.Gate, error) {
	if c != nil {
		return c.Gate, nil
	}
	g, err := a.ledger.Gate(ctx, id.Gate)
	if errors.Is(err, posthouse.ErrNotFound) { // its thread was deleted
		return nil, Lost(id)
	}
	if err != nil {
		return nil, err
	}
	return a.log.WithGrant(ctx, g)
}

// known returns a claim that is tracked here, and whether it is lost. An older claim that is
// tracked says nothing of one that was given by another engine.
func (a *Claims) known(id task.ClaimID) (c *Claim, lost bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c = a.held[id.Gate]
	switch {
	case c == nil:
		return nil, false
	case c.ID.Fence < id.Fence:
		return nil, c.lost // the gate is decided
	}
	return c, c.lost || c.ID.Fence != id.Fence
}

// IsLost reports whether a worker's claim is lost. It asks the store only about one that the
// worker brought from another engine. A claim that cannot be read counts as lost, because nothing
// that its worker still does would count. So does one that another session has, and one that is
// not known here after many that were lost.
func (a *Claims) IsLost(ctx context.Context, s *sessions.Session, id task.ClaimID) (bool, error) {
	if id.Session != "" && id.Session != s.ID {
		return true, nil
	}
	id.Session = s.ID
	c, lost := a.known(id)
	if c != nil || lost {
		return lost || c.ID.Session != s.ID, nil
	}
	if !s.MayAsk() {
		return true, nil
	}
	_, _, err := a.Find(ctx, id)
	if errors.Is(err, posthouse.ErrConflict) || errors.Is(err, posthouse.ErrNotFound) {
		return true, nil
	}
	if IsUnreadable(err) || errors.Is(err, posthouse.ErrInvalid) {
		a.logger.Warn("a worker's claim cannot be read: it is lost", "gate", id.Gate, "error", err)
		return true, nil
	}
	return false, err
}
