package sessions

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/task"
)

// A Session is a worker that talks to this engine.
type Session struct {
	ID    string
	Hello task.Hello

	all *Sessions // its lock guards the rest

	name  string // of the worker on record
	pass  string // that began it; "" is this process
	bound bool   // pass is known: an engine of an earlier release did not say it

	heard time.Time // when its last heartbeat came

	// revision is that of its liveness then. Another one says that the worker sends its
	// heartbeats to another engine now.
	revision uint64

	probes []posthouse.ID // gates: other engines asked about their claims before the session came here

	asked   int // claims that the engine did not know, since askedAt
	askedAt time.Time

	waiters []*waiter // calls of Claim that wait, the oldest first
	over    bool      // it has been ended
}

// Name returns the name of the session's worker on record.
func (s *Session) Name() string {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	return s.name
}

// Queues returns the queues that the session's worker handles.
func (s *Session) Queues() []board.QueueKey {
	keys := make([]board.QueueKey, 0, 2*len(s.Hello.Tasks))
	for _, name := range s.Hello.Tasks {
		keys = append(keys, board.QueueKey{Task: name})
		if s.Hello.Group != "" {
			keys = append(keys, board.QueueKey{Task: name, Group: s.Hello.Group})
		}
	}
	return keys
}

// Handles reports whether the session's worker may have a task.
func (s *Session) Handles(c *posthouse.TaskCall) bool {
	return slices.Contains(s.Hello.Tasks, c.Task) && (c.Group == "" || c.Group == s.Hello.Group)
}

// maxUnknown bounds the claims that the engine does not know, which a session asks about in a
// lease.
const maxUnknown = 100

// MayAsk reports whether a session may have the store asked about one more claim that the
// engine does not know. A worker that moves here brings its claims; one that is told that they
// are lost forgets them.
func (s *Session) MayAsk() bool {
	now := s.all.core.Now()
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if now.Sub(s.askedAt) > s.all.lease() {
		s.askedAt, s.asked = now, 0
	}
	s.asked++
	return s.asked <= maxUnknown
}

// maxWaiting bounds how many calls of one session wait for tasks here.
const maxWaiting = 100

// A waiter ends a call of Claim that waits.
type waiter struct{ end context.CancelCauseFunc }

// RegisterWaiter notes a call that waits for a session's tasks, until leave is called. Its
// context ends with the session. If more calls wait than the worker has room for, the oldest
// ends: the worker has asked again since, and may not hear its answer.
func (s *Session) RegisterWaiter(ctx context.Context) (waiting context.Context, leave func()) {
	waiting, end := context.WithCancelCause(ctx)
	w := &waiter{end}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.waiters = append(s.waiters, w)
	switch {
	case s.over:
		end(errOver(s.ID))
	case len(s.waiters) > min(s.Hello.Concurrency, maxWaiting):
		s.waiters[0].end(&posthouse.Error{
			Code: posthouse.CodeUnavailable, Message: "newer calls of the worker wait for tasks, as many as may", Hint: "let no more calls wait than the worker has room for tasks",
		})
		s.waiters = slices.Delete(s.waiters, 0, 1)
	}
	return waiting, func() {
		end(nil)
		s.all.mu.Lock()
		defer s.all.mu.Unlock()
		if i := slices.Index(s.waiters, w); i >= 0 {
			s.waiters = slices.Delete(s.waiters, i, i+1)
		}
	}
}

// EndWaiters ends the calls that wait for tasks of a session that is over.
func (s *Session) EndWaiters() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.over = true
	for _, w := range s.waiters {
		w.end(errOver(s.ID))
	}
	s.waiters = nil
}

// errOver says that a session is over.
func errOver(id string) error {
	e := posthouse.NotFound("session", posthouse.ID(id))
	e.Hint = "connect again: its claims went to others"
	return e
}
