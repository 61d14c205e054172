package sessions

import (
	"context"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// sessionPrefix begins the ids of sessions. Their slots are beside those of processes.
const sessionPrefix = "worker-"

// Bounds of the sessions that workers have at an engine.
const (
	maxSessions    = 1_000  // of one pass
	maxAllSessions = 10_000 // of all passes
)

// bindingFrom is the first protocol in which a claim says its session.
const bindingFrom = 2

// FindFor returns a session that the caller may use: one of this process any, another those that
// its pass began. [posthouse.ErrNotFound] if there is no such session.
func (a *Sessions) FindFor(ctx context.Context, id string) (*Session, error) {
	if !strings.HasPrefix(id, sessionPrefix) || posthouse.ID(id).Validate() != nil {
		return nil, errOver(id) // it names something else in the store
	}
	s, err := a.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	p := task.PassOf(ctx)
	if p == nil {
		return s, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !s.bound { // an engine of an earlier release began it: it is the worker's that knows its id
		s.bound, s.pass, s.name = true, p.Name, p.Name
	}
	if s.pass != p.Name {
		return nil, errOver(id)
	}
	return s, nil
}

// MayClaim reports whether a call may use a claim of a session: the claim was made by the
// caller's pass, and names its session. [posthouse.ErrNotFound] if the session is over.
func (a *Sessions) MayClaim(ctx context.Context, id task.ClaimID, session string) (bool, error) {
	if id.Session != "" && id.Session != session {
		return false, nil
	}
	s, err := a.Find(ctx, session)
	if err != nil {
		return false, err
	}
	p := task.PassOf(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case id.Session == "" && s.Hello.Protocol >= bindingFrom, p != nil && s.bound && s.pass != p.Name:
		return false, nil
	case p != nil && !s.bound:
		return false, &posthouse.Error{
			Code: posthouse.CodeUnavailable, Message: "the session of this claim comes from an engine of an earlier release, and has sent no heartbeat here",
			Hint: "send a heartbeat, then try again",
		}
	}
	return true, nil
}

// enroll notes a session that begins, if its pass may have one more.
func (a *Sessions) enroll(s *Session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.pass != "" {
		own, all := 0, 0
		for _, o := range a.here {
			if o.pass != "" {
				all++
			}
			if o.pass == s.pass {
				own++
			}
		}
		if own >= maxSessions || all >= maxAllSessions {
			return &posthouse.Error{
				Code:    posthouse.CodeBusy,
				Message: fmt.Sprintf("worker %s has %d sessions here, and all workers %d; the limits are %d and %d", s.pass, own, all, maxSessions, maxAllSessions),
				Hint:    "disconnect those that are over, or try again: a silent one ends after the lease",
			}
		}
		if err := a.named.add(s.pass, s.Queues(), a.core.Now()); err != nil {
			return err
		}
	}
	a.here[s.ID] = s
	return nil
}
