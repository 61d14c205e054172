package sessions

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/task"
)

// Sessions are those of one engine, with what it knows of other engines' sessions.
type Sessions struct {
	core *core.Core
	log  *slog.Logger

	mu      sync.Mutex
	here    map[string]*Session
	named   names            // by workers of each pass
	peers   map[string]*peer // sessions at other engines, as of peersAt
	peersAt time.Time
}

// New returns no sessions.
func New(c *core.Core, log *slog.Logger) *Sessions {
	return &Sessions{core: c, log: log, here: map[string]*Session{}, named: names{byPass: map[string]queueTimes{}}}
}

// lease is how long a session may be silent.
func (a *Sessions) lease() time.Duration { return a.core.Config.LeaseTTL }

// Begin begins the session of a worker that connects. [posthouse.ErrForbidden] if its pass does
// not allow what it handles, [posthouse.ErrBusy] if the pass has as much here as it may have.
func (a *Sessions) Begin(ctx context.Context, h task.Hello) (*Session, error) {
	h.Tasks = slices.Clone(h.Tasks)
	s := &Session{ID: sessionPrefix + string(a.core.NewID()), Hello: h, all: a, heard: a.core.Now(), name: h.Worker, bound: true}
	if p := task.PassOf(ctx); p != nil {
		if err := p.Check(&h); err != nil {
			return nil, err
		}
		s.pass, s.name = p.Name, p.Name
	}
	if err := a.enroll(s); err != nil {
		return nil, err
	}
	if _, err := a.Renew(ctx, s); err != nil {
		a.Forget(s)
		return nil, err
	}
	return s, nil
}

// Find returns a session, also one that began at another engine, which may be gone.
// [posthouse.ErrNotFound] for a session that is over.
func (a *Sessions) Find(ctx context.Context, id string) (*Session, error) {
	a.mu.Lock()
	s := a.here[id]
	a.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := a.load(ctx, id)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if have := a.here[id]; have != nil {
		return have, nil
	}
	a.here[id] = s
	return s, nil
}

// IsHere reports whether a session is at this engine.
func (a *Sessions) IsHere(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.here[id] != nil
}

// While calls fn if a session is at this engine, and reports whether it is. The session does not
// leave before fn returns.
func (a *Sessions) While(id string, fn func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.here[id] == nil {
		return false
	}
	fn()
	return true
}

// Count counts the sessions at this engine.
func (a *Sessions) Count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.here)
}

// Forget forgets a session that is over.
func (a *Sessions) Forget(s *Session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.here[s.ID] == s {
		delete(a.here, s.ID)
	}
}

// A Silent is a session that sent no heartbeat for its lease.
type Silent struct {
	*Session
	Revision uint64 // of its liveness, when it was found silent
}

// TakeSilent forgets and returns the sessions that were silent for their lease.
func (a *Sessions) TakeSilent() (all []Silent) {
	now := a.core.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, s := range a.here {
		if now.Sub(s.heard) > a.lease() {
			delete(a.here, id)
			all = append(all, Silent{s, s.revision})
		}
	}
	return all
}

// Restore notes a session again that was found silent, unless it has come back by itself.
func (a *Sessions) Restore(s Silent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.here[s.ID] == nil {
		a.here[s.ID] = s.Session
	}
}

// HasMoved reports whether a silent session has been heard of since, here or at another engine.
// [posthouse.ErrNotFound] if it is over.
func (a *Sessions) HasMoved(ctx context.Context, s Silent) (bool, error) {
	slot, err := a.read(ctx, s.ID)
	return slot.Revision != s.Revision, err
}

// IsAlive reports whether a session, here or at another engine, has sent a heartbeat in its
// lease. If it has not, the revision is that of its liveness, 0 if that is gone.
func (a *Sessions) IsAlive(ctx context.Context, id string) (alive bool, revision uint64, err error) {
	if a.IsHere(id) {
		return true, 0, nil
	}
	slot, err := a.read(ctx, id)
	if errors.Is(err, posthouse.ErrNotFound) {
		return false, 0, nil // it was ended
	}
	if err != nil && !errors.Is(err, posthouse.ErrCorrupt) {
		return false, 0, err
	}
	silent, err := a.core.Owners.IsExpired(ctx, id)
	return !silent, slot.Revision, err
}
