package claims

import (
	"log/slog"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/dispatch/internal/sessions"
	"github.com/posthouse/posthouse/dispatch/internal/tasklog"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// Options are needed by [Claims], all of them.
type Options struct {
	Ledger   *ledger.Ledger
	Log      *tasklog.Log
	Slots    *Slots
	Sessions *sessions.Sessions
	Board    *board.Board // which counts claims against the limits of their names
	Logger   *slog.Logger

	// Forgotten is called after a claim was forgotten.
	Forgotten func(gate posthouse.ID)
}

// Claims are those of the sessions at one engine.
type Claims struct {
	ledger    *ledger.Ledger
	core      *core.Core
	log       *tasklog.Log
	slots     *Slots
	sessions  *sessions.Sessions
	board     *board.Board
	logger    *slog.Logger
	forgotten func(gate posthouse.ID)

	mu   sync.Mutex
	held map[posthouse.ID]*Claim // by gate
}

// New returns no claims.
func New(o Options) *Claims {
	return &Claims{
		ledger: o.Ledger, core: o.Ledger.Core(), log: o.Log, slots: o.Slots, sessions: o.Sessions, board: o.Board, logger: o.Logger, forgotten: o.Forgotten,
		held: map[posthouse.ID]*Claim{},
	}
}

// State reports whether a session here has the task of a gate, and whether that claim is lost.
func (a *Claims) State(gate posthouse.ID) (held, lost bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.held[gate]
	return c != nil, c != nil && c.lost
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

// filter returns the claims that a function accepts. It is called under the lock.
func (a *Claims) filter(is func(*Claim) bool) (all []*Claim) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.held {
		if is(c) {
			all = append(all, c)
		}
	}
	return all
}

// All returns all claims that are not lost.
func (a *Claims) All() []*Claim {
	return a.filter(func(c *Claim) bool { return !c.lost })
}

// Of returns the claims of a session.
func (a *Claims) Of(session string) []*Claim {
	return a.filter(func(c *Claim) bool { return c.ID.Session == session })
}

// Late returns the claims with attempts that take longer than they may.
func (a *Claims) Late() []*Claim {
	now := a.core.Now()
	return a.filter(func(c *Claim) bool { return !c.deadline.IsZero() && now.After(c.deadline) && !c.lost })
}

// Orphans returns claims that a session was given before a time and does not know of: the
// answer was lost.
func (a *Claims) Orphans(session string, have map[task.ClaimID]bool, before time.Time) []*Claim {
	return a.filter(func(c *Claim) bool { return c.ID.Session == session && c.since.Before(before) && !have[c.ID] })
}

// HasTaskIn reports whether a session has a task in a thread.
func (a *Claims) HasTaskIn(session, thread string) bool {
	return len(a.filter(func(c *Claim) bool { return c.ID.Session == session && c.Gate.Thread == thread && !c.lost })) > 0
}

// Gates returns the gates of all claims, also of those that are lost.
func (a *Claims) Gates() map[posthouse.ID]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	gates := make(map[posthouse.ID]bool, len(a.held))
	for gate := range a.held {
		gates[gate] = true
	}
	return gates
}
