package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// Bounds of what the workers of one pass, and all of them, have at an engine.
const (
	maxSessions    = 1_000  // of one pass
	maxAllSessions = 10_000 // of all passes
	maxNames       = 4_000  // tasks that the workers of one pass name in namesKept; each is a line of the queue
	maxUnknown     = 100    // claims that the engine does not know, which one session asks about in a lease
	bindingFrom    = 2      // the first protocol in which a claim says its session
)

// isSession reports whether an id may be that of a session. Any other names something else in
// the store.
func isSession(id string) bool {
	return strings.HasPrefix(id, sessionPrefix) && posthouse.ID(id).Validate() == nil
}

// nameFor returns the name on record of a worker that connects: that of its pass, or with no
// pass the one that it says, since it is of this process.
func nameFor(ctx context.Context, h *task.Hello) string {
	if p := task.PassOf(ctx); p != nil {
		return p.Name
	}
	return h.Worker
}

// admits reports whether a call may use a session: one of this process any, another those that
// its pass began. A session that an engine of an earlier release began says no pass, and becomes
// that of the worker that knows its id. Callers hold d.mu.
func (s *session) admits(p *task.Pass) bool {
	if p != nil && !s.bound {
		s.bound, s.pass, s.name = true, p.Name, p.Name
	}
	return p == nil || s.pass == p.Name
}

// sessionFor returns a session of the caller's.
func (d *Dispatcher) sessionFor(ctx context.Context, id string) (*session, error) {
	if !isSession(id) {
		return nil, sessionOver(id)
	}
	s, err := d.session(ctx, id)
	if err != nil {
		return nil, err
	}
	p := task.PassOf(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !s.admits(p) {
		return nil, sessionOver(id)
	}
	return s, nil
}

// mayUse returns an error unless a claim that a session has is the caller's: made by its pass,
// and named with its session.
func (d *Dispatcher) mayUse(ctx context.Context, id task.ClaimID, session string) error {
	if id.Session != "" && id.Session != session {
		return claimLost(id)
	}
	s, err := d.session(ctx, session)
	if errors.Is(err, posthouse.ErrNotFound) {
		return claimLost(id)
	}
	if err != nil {
		return err
	}
	p := task.PassOf(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case id.Session == "" && s.hello.Protocol >= bindingFrom, p != nil && s.bound && s.pass != p.Name:
		return claimLost(id)
	case p != nil && !s.bound:
		return &posthouse.Error{
			Code: posthouse.CodeUnavailable, Message: "the session of this claim comes from an engine of an earlier release, and has sent no heartbeat here",
			Hint: "send a heartbeat, then try again",
		}
	}
	return nil
}

// enroll notes a session that begins. Callers hold d.mu.
func (d *Dispatcher) enroll(s *session) error {
	if s.pass != "" {
		own, all := 0, 0
		for _, o := range d.sessions {
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
	}
	if err := d.name(s); err != nil {
		return err
	}
	d.sessions[s.id] = s
	return nil
}

// namesKept is how long an engine knows which tasks the workers of a pass have named: as long as
// a shared queue keeps the line of a task that nobody asks for.
const namesKept = time.Hour

// name notes the tasks that a session names, of a pass. Each makes a line in the queue that
// engines share, so a pass may not name new ones without end. Callers hold d.mu.
func (d *Dispatcher) name(s *session) error {
	if s.pass == "" {
		return nil
	}
	now := d.core.Now()
	d.forgetNames(now, s.pass)
	if since := now.Sub(d.namesAt); since >= namesKept || since < 0 {
		d.namesAt = now
		for pass := range d.named {
			d.forgetNames(now, pass)
		}
	}
	names, more := d.named[s.pass], 0
	for _, l := range s.lines() {
		if _, known := names[l]; !known {
			more++
		}
	}
	if more > 0 && len(names)+more > maxNames {
		return &posthouse.Error{
			Code: posthouse.CodeBusy, Field: "tasks",
			Message: fmt.Sprintf("the workers of %s named %d tasks in the last hour, and now %d more; the limit is %d, a task of two groups counting twice", s.pass, len(names), more, maxNames),
			Hint:    "name the same tasks each time; what changes belongs in a task's input",
		}
	}
	if names == nil {
		names = map[line]time.Time{}
		d.named[s.pass] = names
	}
	for _, l := range s.lines() {
		names[l] = now
	}
	return nil
}

// mayAsk reports whether a session may have the store asked about one more claim that the
// engine does not know. A worker that moves here brings its claims; one that is told that they
// are lost forgets them.
func (d *Dispatcher) mayAsk(s *session) bool {
	now := d.core.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(s.askedAt) > d.lease() {
		s.askedAt, s.asked = now, 0
	}
	s.asked++
	return s.asked <= maxUnknown
}

// hasTaskIn reports whether a session has a task in a thread.
func (d *Dispatcher) hasTaskIn(session, thread string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.held {
		if h.session == session && h.gate.Thread == thread && !h.lost {
			return true
		}
	}
	return false
}

// checkSignal refuses a signal that says what the engine says: who sends it, when and where.
func checkSignal(s *posthouse.Signal) error {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"by", s.By != ""}, {"thread", s.Thread != ""}, {"at", !s.At.IsZero()}, {"seq", s.Seq != 0}, {"gates", len(s.Gates) > 0}, {"requesters", len(s.Requesters) > 0},
	} {
		if f.set {
			e := posthouse.Invalid(f.name, "of signal %.40q is the engine's to say", s.Name)
			e.Hint = "leave it out: a worker signals in its own name"
			return e
		}
	}
	return nil
}

// forgetNames forgets what the workers of a pass have not named for namesKept. Callers hold d.mu.
func (d *Dispatcher) forgetNames(now time.Time, pass string) {
	names := d.named[pass]
	for l, at := range names {
		if since := now.Sub(at); since >= namesKept || since < 0 {
			delete(names, l)
		}
	}
	if len(names) == 0 {
		delete(d.named, pass)
	}
}
