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
		ledger: o.Ledger, core: o.Ledger.Core().Core, log: o.Log, slots: o.Slots, sessions: o.Sessions, board: o.Board, logger: o.Logger, forgotten: o.Forgotten,
		held: map[posthouse.ID]*Claim{},
	}
}

// Has reports whether a session here has the task of a gate, also if its claim is lost.
func (a *Claims) Has(gate posthouse.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held[gate] != nil
}

// HasLost reports whether a session here has the task of a gate and its claim is lost.
func (a *Claims) HasLost(gate posthouse.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.held[gate]
	return c != nil && c.lost
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
