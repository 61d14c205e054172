package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// A claim whose answer was lost is found by the engine that gave it: the worker's heartbeats do
// not name it. If the worker sends its heartbeats to another engine by then, that one does not
// know of the claim, and the engines that do see a worker that is alive. So an engine that finds
// the same claim elsewhere for a lease writes its gate into the session's liveness. The next
// heartbeat there finds it, and the claim is looked at as any other of its session.

// maxDoubts bounds the claims of one session that are asked about between two heartbeats.
const maxDoubts = 16

// longestDoubt is between two questions about one claim, at most.
const longestDoubt = time.Minute

// A doubt says when to ask next about an open task that a worker of another process has. Only
// the claim that looks at the task uses it.
type doubt struct {
	next  time.Time
	pause time.Duration
}

// asksNow reports whether it is time to ask: first after a lease, then after twice as long
// each time.
func (q *doubt) asksNow(now time.Time, lease time.Duration) bool {
	first := q.next.IsZero()
	switch {
	case first:
		q.pause = lease
	case now.Before(q.next):
		return false
	default:
		q.pause = min(2*q.pause, max(longestDoubt, lease))
	}
	q.next = now.Add(q.pause)
	return !first
}

// askAbout asks the process that hears of a session about its claim of a gate. What cannot be
// written now is asked later.
func (d *Dispatcher) askAbout(ctx context.Context, session string, gate posthouse.ID) {
	slot, err := d.core.Store.Slot(ctx, livenessOf(session), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if err != nil {
		return // it was ended, or the store is away
	}
	var l liveness
	if json.Unmarshal(slot.Value, &l) != nil || len(l.Doubts) >= maxDoubts || slices.Contains(l.Doubts, gate) {
		return
	}
	l.Doubts = append(l.Doubts, gate)
	value, err := json.Marshal(l)
	if err == nil {
		_, err = d.core.Store.Slot(ctx, livenessOf(session), posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: slot.Revision, Value: value})
	}
	if err != nil && !errors.Is(err, posthouse.ErrConflict) {
		d.opt.Logger.Warn("cannot ask about the claim of a worker at another engine", "gate", gate, "session", session, "error", err)
	}
}

// doubtsIn returns the gates that a session's liveness asks about.
func doubtsIn(value []byte) []posthouse.ID {
	var l liveness
	if json.Unmarshal(value, &l) != nil {
		return nil
	}
	return l.Doubts[:min(len(l.Doubts), maxDoubts)]
}

// lookInto notes the claims of a session that others ask about. If the worker's heartbeats do
// not name them for a lease, they go to others.
func (d *Dispatcher) lookInto(ctx context.Context, s *session, gates []posthouse.ID) {
	slices.Sort(gates)
	for _, id := range slices.Compact(gates) {
		g, err := d.ledger.Gate(ctx, id)
		if err == nil && g.Call != nil && g.Decision == nil {
			err = d.adoptClaim(ctx, s, g)
		}
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			d.opt.Logger.Warn("cannot look at a claim that another engine asks about", "gate", id, "session", s.id, "error", err)
		}
	}
}

// adoptClaim notes the claim of a gate, if its slot says that the session has it.
func (d *Dispatcher) adoptClaim(ctx context.Context, s *session, g *posthouse.Gate) error {
	r, slot, err := d.readSlot(ctx, g)
	if err == nil && r.Gate == g.ID && r.Session == s.id {
		d.adopt(s.id, task.ClaimID{Gate: g.ID, Fence: slot.Fence}, g)
	}
	return err
}
