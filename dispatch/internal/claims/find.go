package claims

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/sessions"
	"github.com/posthouse/posthouse/ledger"
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

// TrackFor tracks a claim, also of a session that comes from another engine or comes back. It
// returns the newest claim of the gate. [posthouse.ErrNotFound] if the session has ended.
func (a *Claims) TrackFor(ctx context.Context, c *Claim) (*Claim, error) {
	for {
		if _, err := a.sessions.Find(ctx, c.ID.Session); err != nil {
			return nil, err
		}
		if tracked := a.track(c); tracked != nil {
			return tracked, nil
		}
	}
}

// TrackSlot tracks the claim of a gate that its slot names, and reports whether the session of
// that claim is here. A claim that is tracked already, or is older, changes nothing. Its answer
// was lost, or came from another engine: if the worker's heartbeats do not name it for a lease, it
// goes to others.
func (a *Claims) TrackSlot(g *posthouse.Gate, slot *Slot) bool {
	return a.track(a.New(task.ClaimID{Gate: g.ID, Fence: slot.Fence, Session: slot.Session}, g)) != nil
}

// LoadGate tracks the claim of a gate, if its slot says that a session has it.
func (a *Claims) LoadGate(ctx context.Context, s *sessions.Session, g *posthouse.Gate) error {
	slot, err := a.slots.Read(ctx, g)
	if err == nil && slot.IsClaimed(g) && slot.Session == s.ID {
		a.TrackSlot(g, &slot)
	}
	return err
}

// Load tracks the claims that a session has from another engine. It reads the slot of each open
// task that its worker handles.
func (a *Claims) Load(ctx context.Context, s *sessions.Session) error {
	for g, err := range a.ledger.Gates(ctx, ledger.GateQuery{Kind: posthouse.GateTask}) {
		if g == nil {
			return err
		}
		if err != nil || g.Call == nil || !s.Handles(g.Call) {
			continue // one that cannot be read cannot be released
		}
		if err := a.LoadGate(ctx, s, g); err != nil && !IsUnreadable(err) {
			return err
		}
	}
	return ctx.Err()
}

// Free takes a claim out of its task's slot, so that its attempt is made by another worker, and
// forgets it.
func (a *Claims) Free(ctx context.Context, c *Claim) error {
	defer a.Forget(c)
	slot, err := a.slots.Read(ctx, c.Gate)
	if err != nil {
		return err
	}
	if slot.Fence != c.ID.Fence || slot.Gate != c.ID.Gate {
		return nil
	}
	slot.Session = ""
	return a.slots.Write(ctx, c.Gate, &slot)
}
