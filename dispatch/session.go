package dispatch

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// Connect implements [task.Engine].
func (d *Dispatcher) Connect(ctx context.Context, h task.Hello) (*task.Session, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	s, err := d.sessions.Begin(ctx, h)
	if err != nil {
		return nil, err
	}
	return &task.Session{ID: s.ID, Lease: d.lease, Wait: d.opt.Wait}, nil
}

// Heartbeat implements [task.Engine].
func (d *Dispatcher) Heartbeat(ctx context.Context, id string, have []task.ClaimID) (*task.Pulse, error) {
	begun := d.core.Now() // have is not newer
	s, err := d.sessions.FindFor(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(have) > s.Hello.Concurrency {
		return nil, posthouse.Invalid("have", "has %d claims; the worker handles %d tasks at once", len(have), s.Hello.Concurrency)
	}
	probes, err := d.sessions.Renew(ctx, s)
	if errors.Is(err, posthouse.ErrNotFound) {
		d.forgetSession(s)
	}
	if err != nil {
		return nil, err
	}
	d.answerProbes(ctx, s, probes)
	p := &task.Pulse{}
	has := make(map[task.ClaimID]bool, len(have))
	for _, c := range have {
		lost, err := d.claims.IsLost(ctx, s, c)
		if err != nil {
			return nil, err
		}
		if lost {
			p.Lost = append(p.Lost, c)
		}
		c.Session = id // workers of protocol 1 leave it out
		has[c] = true
	}
	for _, c := range d.claims.Orphans(id, has, begun.Add(-d.lease)) {
		if err := d.releaseClaim(ctx, c); err != nil { // the next claim of the task looks at it again
			d.opt.Logger.Warn("a claim that never reached its worker cannot be freed", "gate", c.ID.Gate, "error", err)
		}
	}
	if _, err := d.sessions.Find(ctx, id); err != nil { // it has been ended since
		return nil, err
	}
	return p, nil
}

// Disconnect implements [task.Engine].
func (d *Dispatcher) Disconnect(ctx context.Context, id string) error {
	known := d.sessions.IsHere(id)
	s, err := d.sessions.FindFor(ctx, id)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !known {
		if err := d.claims.Load(ctx, s); err != nil {
			return err
		}
	}
	d.sessions.Forget(s)
	s.EndWaiters()
	var failed error
	for _, c := range d.claims.Of(id) {
		failed = errors.Join(failed, d.releaseClaim(ctx, c))
	}
	return errors.Join(failed, d.sessions.End(ctx, id))
}
