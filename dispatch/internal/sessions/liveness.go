package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// A liveness is the content of a session's slot: all that another engine needs to take the
// session over, and what a list of workers says.
type liveness struct {
	task.Hello
	Engine string    `json:"engine,omitempty"` // the process that heard of it last
	Heard  time.Time `json:"heard,omitzero"`   // when that was, by its clock
	Pass   string    `json:"pass,omitempty"`   // that began it; "" is that process
	Name   string    `json:"name,omitempty"`   // of the worker on record
	Bound  bool      `json:"bound,omitempty"`  // Pass is said

	// Probes are gates: other engines ask about their claims. See Probe.
	Probes []posthouse.ID `json:"doubts,omitempty"`
}

// maxProbes bounds the claims of one session that are asked about between two heartbeats.
const maxProbes = 16

// probesIn returns the gates that a session's liveness asks about.
func probesIn(value []byte) []posthouse.ID {
	var l liveness
	if json.Unmarshal(value, &l) != nil {
		return nil
	}
	return l.Probes[:min(len(l.Probes), maxProbes)]
}

func livenessKey(session string) posthouse.SlotKey {
	return posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: session}
}

func (a *Sessions) read(ctx context.Context, session string) (posthouse.Slot, error) {
	return a.core.Store.Slot(ctx, livenessKey(session), posthouse.SlotOp{Verb: posthouse.SlotGet})
}

// load reads a session that began at another engine.
func (a *Sessions) load(ctx context.Context, id string) (*Session, error) {
	slot, err := a.read(ctx, id)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, errOver(id)
	}
	if err != nil {
		return nil, err
	}
	var l liveness
	if err := json.Unmarshal(slot.Value, &l); err != nil || l.Check() != nil {
		return nil, errOver(id)
	}
	return &Session{
		ID: id, Hello: l.Hello, all: a, heard: a.core.Now(), revision: slot.Revision, pass: l.Pass, bound: l.Bound,
		name: cmp.Or(l.Name, l.Worker), probes: l.Probes,
	}, nil
}

// Renew writes the liveness of a session. It returns gates: other engines ask about
// their claims, and this engine is to look at them. [posthouse.ErrNotFound] for a session that was ended,
// here or elsewhere: it stays so.
func (a *Sessions) Renew(ctx context.Context, s *Session) (probes []posthouse.ID, err error) {
	a.mu.Lock()
	revision, probes := s.revision, s.probes // 0 for one that begins
	l := liveness{Hello: s.Hello, Engine: a.core.Config.Owner, Heard: a.core.Now(), Pass: s.pass, Name: s.name, Bound: s.bound}
	a.mu.Unlock()
	value, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	for {
		slot, err := a.core.Store.Slot(ctx, livenessKey(s.ID), posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: revision, Value: value})
		if err == nil {
			a.mu.Lock()
			s.heard, s.revision, s.probes = a.core.Now(), slot.Revision, nil
			a.mu.Unlock()
			return probes, nil
		}
		if !errors.Is(err, posthouse.ErrConflict) {
			return nil, err
		}
		slot, err = a.read(ctx, s.ID)
		if errors.Is(err, posthouse.ErrNotFound) {
			return nil, errOver(s.ID)
		}
		if err != nil {
			return nil, err
		}
		revision = slot.Revision // of a heartbeat that went to another engine, or of a probe
		probes = append(probes, probesIn(slot.Value)...)
	}
}

// Probe asks the engine that hears of a session about its claim of a gate: the next heartbeat
// there finds the question in the liveness. A question that cannot be written now is asked later.
func (a *Sessions) Probe(ctx context.Context, session string, gate posthouse.ID) {
	slot, err := a.read(ctx, session)
	if err != nil {
		return // it was ended, or the store is away
	}
	var l liveness
	if json.Unmarshal(slot.Value, &l) != nil || len(l.Probes) >= maxProbes || slices.Contains(l.Probes, gate) {
		return
	}
	l.Probes = append(l.Probes, gate)
	value, err := json.Marshal(l)
	if err == nil {
		_, err = a.core.Store.Slot(ctx, livenessKey(session), posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: slot.Revision, Value: value})
	}
	if err != nil && !errors.Is(err, posthouse.ErrConflict) {
		a.log.Warn("cannot ask about the claim of a worker at another engine", "gate", gate, "session", session, "error", err)
	}
}

// End deletes the liveness of a session.
func (a *Sessions) End(ctx context.Context, session string) error {
	return a.delete(ctx, session, posthouse.AnyRevision)
}

// EndSilent deletes the liveness of a session that is silent, unless it has changed since a
// revision. 0 says that there is no liveness.
func (a *Sessions) EndSilent(ctx context.Context, session string, revision uint64) {
	if revision == 0 {
		return
	}
	if err := a.delete(ctx, session, revision); err != nil && !errors.Is(err, posthouse.ErrConflict) {
		a.log.Warn("cannot remove the liveness of a session", "session", session, "error", err)
	}
}

func (a *Sessions) delete(ctx context.Context, session string, revision uint64) error {
	_, err := a.core.Store.Slot(ctx, livenessKey(session), posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: revision})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil // another call was faster
	}
	return err
}
