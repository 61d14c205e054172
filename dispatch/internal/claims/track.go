package claims

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/sessions"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

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

// track notes a claim, unless a newer one of its gate is noted. It returns the one that is, nil
// if the session is not here: such a claim would never be ended.
func (a *Claims) track(c *Claim) (tracked *Claim) {
	a.sessions.While(c.ID.Session, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		tracked = a.held[c.ID.Gate]
		if tracked != nil && tracked.ID.Fence >= c.ID.Fence {
			return
		}
		tracked = c
		a.held[c.ID.Gate] = c
		a.board.SetClaimed(c.Gate.Call.Task, c.ID.Gate)
	})
	return tracked
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

// Forget forgets a claim that is over.
func (a *Claims) Forget(c *Claim) {
	a.mu.Lock()
	held := a.held[c.ID.Gate] == c
	if held {
		delete(a.held, c.ID.Gate)
		a.board.SetReleased(c.Gate.Call.Task, c.ID.Gate)
	}
	a.mu.Unlock()
	if held {
		a.forgotten(c.ID.Gate)
	}
}

// MarkLost notes that a gate was decided, but not by the session that has its task. The session's
// next heartbeat hears of it.
func (a *Claims) MarkLost(gate posthouse.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.held[gate]; c != nil {
		c.lost = true
		a.board.SetReleased(c.Gate.Call.Task, gate)
	}
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
