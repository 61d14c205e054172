package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// sessionPrefix begins the ids of sessions, which are beside the names of processes.
const sessionPrefix = "worker-"

// A session is a worker that talks to this process.
type session struct {
	id    string
	hello task.Hello
	heard time.Time // when its last heartbeat came

	// revision is that of its liveness slot at the time. Another one says that the worker
	// sends its heartbeats to another process now.
	revision uint64

	name  string // of the worker on record
	pass  string // whose session it is; "" is this process
	bound bool   // pass is said; an engine of an earlier release says none

	doubts []posthouse.ID // asked about before it came here; guarded by Dispatcher.mu

	asked   int // claims that the engine did not know, since askedAt
	askedAt time.Time

	claims []*claimer // calls of Claim that wait, the oldest first; guarded by Dispatcher.mu
	over   bool       // it has been ended; guarded likewise
}

// Connect implements [task.Engine].
func (d *Dispatcher) Connect(ctx context.Context, h task.Hello) (*task.Session, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	h.Tasks = slices.Clone(h.Tasks)
	s := &session{id: sessionPrefix + string(d.core.NewID()), hello: h, heard: d.core.Now(), name: nameFor(ctx, &h), bound: true}
	if p := task.PassOf(ctx); p != nil {
		if err := p.Check(&h); err != nil {
			return nil, err
		}
		s.pass = p.Name
	}
	d.mu.Lock()
	err := d.enroll(s)
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := d.renew(ctx, s); err != nil {
		d.mu.Lock()
		delete(d.sessions, s.id)
		d.mu.Unlock()
		return nil, err
	}
	return &task.Session{ID: s.id, Lease: d.lease(), Wait: d.opt.Wait}, nil
}

// renew changes the liveness slot of a session. It holds what another process needs to take
// the session over. One that was ended meanwhile, here or elsewhere, stays so.
func (d *Dispatcher) renew(ctx context.Context, s *session) error {
	d.mu.Lock()
	revision, doubts := s.revision, s.doubts // 0 for one that begins
	now := liveness{Hello: s.hello, Engine: d.engineName(), Heard: d.core.Now(), Pass: s.pass, Name: s.name, Bound: s.bound}
	d.mu.Unlock()
	value, err := json.Marshal(now)
	if err != nil {
		return err
	}
	for {
		slot, err := d.core.Store.Slot(ctx, livenessOf(s.id), posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: revision, Value: value})
		if err == nil {
			d.mu.Lock()
			s.heard, s.revision, s.doubts = d.core.Now(), slot.Revision, nil
			d.mu.Unlock()
			d.lookInto(ctx, s, doubts)
			return nil
		}
		if !errors.Is(err, posthouse.ErrConflict) {
			return err
		}
		slot, err = d.core.Store.Slot(ctx, livenessOf(s.id), posthouse.SlotOp{Verb: posthouse.SlotGet})
		if errors.Is(err, posthouse.ErrNotFound) {
			return sessionOver(s.id)
		}
		if err != nil {
			return err
		}
		revision = slot.Revision // of a heartbeat that went to another process, or of a doubt
		doubts = append(doubts, doubtsIn(slot.Value)...)
	}
}

func livenessOf(session string) posthouse.SlotKey {
	return posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: session}
}

// session returns a session, also one that began at another process, which may be gone.
func (d *Dispatcher) session(ctx context.Context, id string) (*session, error) {
	d.mu.Lock()
	s := d.sessions[id]
	d.mu.Unlock()
	if s != nil {
		return s, nil
	}
	slot, err := d.core.Store.Slot(ctx, livenessOf(id), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, sessionOver(id)
	}
	if err != nil {
		return nil, err
	}
	var l liveness
	if err := json.Unmarshal(slot.Value, &l); err != nil || l.Check() != nil {
		return nil, sessionOver(id)
	}
	s = &session{id: id, hello: l.Hello, heard: d.core.Now(), revision: slot.Revision, pass: l.Pass, bound: l.Bound, name: cmp.Or(l.Name, l.Worker), doubts: l.Doubts}
	d.mu.Lock()
	defer d.mu.Unlock()
	if have := d.sessions[id]; have != nil {
		return have, nil
	}
	d.sessions[id] = s
	return s, nil
}

func sessionOver(id string) error {
	e := posthouse.NotFound("session", posthouse.ID(id))
	e.Hint = "connect again: its claims went to others"
	return e
}

// Heartbeat implements [task.Engine].
func (d *Dispatcher) Heartbeat(ctx context.Context, id string, have []task.ClaimID) (*task.Pulse, error) {
	begun := d.core.Now() // have is not newer
	s, err := d.sessionFor(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(have) > s.hello.AtOnce {
		return nil, posthouse.Invalid("have", "has %d claims; the worker handles %d tasks at once", len(have), s.hello.AtOnce)
	}
	err = d.renew(ctx, s)
	if errors.Is(err, posthouse.ErrNotFound) {
		d.ended(s)
	}
	if err != nil {
		return nil, err
	}
	p := &task.Pulse{}
	has := make(map[task.ClaimID]bool, len(have))
	for _, c := range have {
		lost, err := d.hasLost(ctx, s, c)
		if err != nil {
			return nil, err
		}
		if lost {
			p.Lost = append(p.Lost, c)
		}
		c.Session = id // workers of protocol 1 leave it out
		has[c] = true
	}
	for _, h := range d.orphans(s, has, begun.Add(-d.lease())) {
		if err := d.giveBack(ctx, h); err != nil { // the next claim of the task looks at it again
			d.opt.Logger.Warn("a claim that never reached its worker cannot be freed", "gate", h.id.Gate, "error", err)
		}
	}
	if _, err := d.session(ctx, id); err != nil { // it was ended meanwhile
		return nil, err
	}
	return p, nil
}

// hasLost reports whether a worker's claim is lost. It asks the store only about one that
// the worker brought from another process. One that cannot be read counts as lost, because
// nothing that it still does would count. So does one that another session has, and one that is
// not known here after many that were lost.
func (d *Dispatcher) hasLost(ctx context.Context, s *session, id task.ClaimID) (bool, error) {
	if id.Session != "" && id.Session != s.id {
		return true, nil
	}
	id.Session = s.id
	h, lost := d.known(id)
	if h != nil || lost {
		return lost || h.session != s.id, nil
	}
	if !d.mayAsk(s) {
		return true, nil
	}
	_, _, err := d.holds(ctx, id)
	switch {
	case errors.Is(err, posthouse.ErrConflict), errors.Is(err, posthouse.ErrNotFound):
		return true, nil
	case isUnreadable(err), errors.Is(err, posthouse.ErrInvalid):
		d.opt.Logger.Warn("a worker's claim cannot be read: it is lost", "gate", id.Gate, "error", err)
		return true, nil
	}
	return false, err
}

// orphans returns claims that a session was given before a time and does not know of: the
// answer was lost.
func (d *Dispatcher) orphans(s *session, have map[task.ClaimID]bool, before time.Time) (all []*holding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.held {
		if h.session == s.id && h.since.Before(before) && !have[h.id] {
			all = append(all, h)
		}
	}
	return all
}

// Disconnect implements [task.Engine].
func (d *Dispatcher) Disconnect(ctx context.Context, id string) error {
	d.mu.Lock()
	_, met := d.sessions[id]
	d.mu.Unlock()
	s, err := d.sessionFor(ctx, id)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !met {
		if err := d.meet(ctx, s); err != nil {
			return err
		}
	}
	d.mu.Lock()
	if d.sessions[id] == s {
		delete(d.sessions, id)
	}
	d.mu.Unlock()
	d.endClaims(s)
	var failed error
	for _, h := range d.claimsOf(s.id) {
		failed = errors.Join(failed, d.giveBack(ctx, h))
	}
	_, err = d.core.Store.Slot(ctx, livenessOf(id), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
	if errors.Is(err, posthouse.ErrNotFound) {
		err = nil // another call was faster
	}
	return errors.Join(failed, err)
}

// meet notes the claims that a session has from another process. It reads the slot of each
// open task that its worker handles.
func (d *Dispatcher) meet(ctx context.Context, s *session) error {
	for g, err := range d.ledger.Gates(ctx, ledger.GateQuery{Kind: posthouse.GateTask}) {
		if g == nil {
			return err
		}
		if err != nil || g.Call == nil || !s.handles(g.Call) {
			continue // one that cannot be read cannot be given back
		}
		if err := d.adoptClaim(ctx, s, g); err != nil && !isUnreadable(err) {
			return err
		}
	}
	return ctx.Err()
}

// handles reports whether a session's worker may have a task.
func (s *session) handles(c *posthouse.TaskCall) bool {
	return slices.Contains(s.hello.Tasks, c.Task) && (c.Group == "" || c.Group == s.hello.Group)
}

func (d *Dispatcher) claimsOf(session string) (all []*holding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.held {
		if h.session == session {
			all = append(all, h)
		}
	}
	return all
}

// endSilent ends sessions that were silent for their lease, and attempts that take longer
// than they may. Their tasks are tried again by others.
func (d *Dispatcher) endSilent(ctx context.Context) {
	now := d.core.Now()
	silent := map[*session]uint64{} // and the revision of its liveness
	var late []*holding
	d.mu.Lock()
	for id, s := range d.sessions {
		if now.Sub(s.heard) > d.lease() {
			silent[s] = s.revision
			delete(d.sessions, id)
		}
	}
	for _, h := range d.held {
		if !h.deadline.IsZero() && now.After(h.deadline) && !h.lost {
			late = append(late, h)
		}
	}
	d.mu.Unlock()
	for s, revision := range silent {
		d.endSession(ctx, s, revision)
	}
	for _, h := range late {
		if d.failAttempt(ctx, h.gate, "the attempt took longer than "+h.gate.Call.Limits.Timeout.String()) != nil {
			continue // until the next look
		}
		d.mu.Lock()
		d.lose(h) // its worker hears of it
		d.mu.Unlock()
	}
}

// endSession ends a session that is silent here, and fails its attempts. If its liveness is not
// at the revision that was heard of here, another process hears of it, or has ended it.
func (d *Dispatcher) endSession(ctx context.Context, s *session, revision uint64) {
	slot, err := d.core.Store.Slot(ctx, livenessOf(s.id), posthouse.SlotOp{Verb: posthouse.SlotGet})
	switch {
	case errors.Is(err, posthouse.ErrNotFound):
		d.ended(s)
		return
	case err != nil:
		d.opt.Logger.Warn("cannot look for a silent worker", "session", s.id, "error", err)
		d.mu.Lock()
		if d.sessions[s.id] == nil { // it has not come back meanwhile
			d.sessions[s.id] = s // it is looked for again
		}
		d.mu.Unlock()
		return
	case slot.Revision != revision:
		d.release(s, func(*holding) error { return errMoved })
		return
	}
	d.opt.Logger.Warn("a worker is silent: others take its tasks", "worker", s.name, "session", s.id)
	d.mu.Lock()
	d.silent++
	d.mu.Unlock()
	d.endClaims(s)
	d.release(s, func(h *holding) error {
		return d.failAttempt(ctx, h.gate, "worker "+s.name+" was silent for "+d.lease().String())
	})
	d.dropLiveness(ctx, s.id, slot.Revision)
}

// ended forgets a session that another process has ended.
func (d *Dispatcher) ended(s *session) {
	d.mu.Lock()
	if d.sessions[s.id] == s {
		delete(d.sessions, s.id)
	}
	d.mu.Unlock()
	d.endClaims(s)
	d.release(s, func(*holding) error { return errMoved })
}

// errMoved says that another process knows what has become of a claim.
var errMoved = errors.New("moved")

// release forgets the claims of a session, each once end has ended its attempt. Those whose
// attempt goes on are looked at as others' are: the worker and who hears of it may be gone
// soon, or another worker may have the task.
func (d *Dispatcher) release(s *session, end func(*holding) error) {
	for _, h := range d.claimsOf(s.id) {
		d.mu.Lock()
		x := h.delivery
		h.delivery = nil
		d.mu.Unlock()
		d.forget(h)
		err := end(h)
		switch {
		case err == nil && x != nil:
			x.Ack()
		case err != nil && x != nil:
			x.Later(0)
		}
		if err != nil {
			d.add(h.gate, true)
		}
	}
}

// dropLiveness removes the liveness of a session that is silent, unless it was heard of since the
// revision. 0 is none.
func (d *Dispatcher) dropLiveness(ctx context.Context, session string, revision uint64) {
	if revision == 0 {
		return
	}
	_, err := d.core.Store.Slot(ctx, livenessOf(session), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: revision})
	if err != nil && !errors.Is(err, posthouse.ErrConflict) && !errors.Is(err, posthouse.ErrNotFound) {
		d.opt.Logger.Warn("cannot remove the liveness of a session", "session", session, "error", err)
	}
}
