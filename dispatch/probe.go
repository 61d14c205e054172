package dispatch

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/sessions"
)

// If the answer of a claim was lost, the engine that gave it finds out: the worker's heartbeats do
// not name the claim. If the worker sends its heartbeats to another engine by then, that one does not
// know of the claim, and the engines that do see a worker that is alive. So an engine that finds
// the same claim elsewhere for a lease writes the gate into the session's liveness
// ([sessions.Sessions.Probe]). The next heartbeat there finds it, and the claim is tracked as any
// other of its session.

// answerProbes tracks the claims of a session that other engines ask about. If the worker's
// heartbeats do not name them for a lease, they go to others.
func (d *Dispatcher) answerProbes(ctx context.Context, s *sessions.Session, gates []posthouse.ID) {
	slices.Sort(gates)
	for _, id := range slices.Compact(gates) {
		g, err := d.ledger.Gate(ctx, id)
		if err == nil && g.Call != nil && g.Decision == nil {
			err = d.claims.LoadGate(ctx, s, g)
		}
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			d.opt.Logger.Warn("cannot look at a claim that another engine asks about", "gate", id, "session", s.ID, "error", err)
		}
	}
}
