package engine

import (
	"context"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/runs"
)

// Lost returns a [*runs.RemoteError] of unknown outcome if a task of the use was withdrawn while a
// worker had it, as by a select. Its outcome has to be settled before anything else is done under
// the decision. It is nil for an effect that happens once for a key.
func (e *Effect) Lost(ctx context.Context) error {
	g, err := e.lost(ctx)
	if g == nil || err != nil {
		return err
	}
	return &runs.RemoteError{Task: g.Call.Task, Gate: g.ID, Worker: g.Decision.By, Attempts: g.Call.Attempt, Reason: g.Decision.Reason, Unknown: true}
}

func (e *Effect) lost(ctx context.Context) (*posthouse.Gate, error) {
	if e.under == nil || e.call.opt.Effect == posthouse.EffectWrite {
		return nil, nil
	}
	t := e.call.task
	t.mu.Lock()
	var gone []*posthouse.Gate
	for _, g := range e.gates() {
		if g.Call != nil && !isAlive(g) && g.Branch == t.session.Branch() && g.Call.Grant == e.under.ID {
			gone = append(gone, g)
		}
	}
	t.mu.Unlock()
	if len(gone) == 0 {
		return nil, nil
	}
	if err := e.learnClaims(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	u := e.read()
	for _, g := range gone {
		if u.HasClaim(g.Call.ID) {
			return g, nil
		}
	}
	return nil, nil
}

// learnClaims reads what was recorded of workers since the execution began: they take tasks
// while it runs.
func (e *Effect) learnClaims(ctx context.Context) error {
	t, prefix := e.call.task, e.call.within("")
	known, err := t.session.Record().ReadExecutions(ctx)
	if err != nil {
		return err
	}
	x := known[t.Key()]
	if x == nil || t.replay == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range x.Steps {
		r := &x.Steps[i]
		what, within := strings.CutPrefix(r.Name, prefix)
		if within && (what == effect.RecordClaimed || what == effect.RecordUndone) {
			t.replay.Remember(r, "")
		}
	}
	return nil
}

// Strayed refuses a function that says it waits while nothing within its use does: what it waits
// for was opened with a context from outside, so no decision covers it. It drops what the
// execution asks, which would hand it out. It returns [posthouse.ErrInvalid], which every later
// step of the execution returns. That says nothing of what the function did.
func (e *Effect) Strayed() error {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.made()
	m.disorder = license.Strayed(e.call.name)
	m.questions, m.open = nil, nil
	return m.disorder
}
