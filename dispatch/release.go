package dispatch

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/dispatch/internal/sessions"
	"github.com/posthouse/posthouse/internal/commit"
)

// releaseClaim ends a claim that its worker does not go on with. Another worker makes the attempt,
// unless that might repeat an effect that must not happen twice.
func (d *Dispatcher) releaseClaim(ctx context.Context, c *claims.Claim) error {
	if !c.Gate.Call.Once() {
		return d.freeClaim(ctx, c)
	}
	if err := d.attempts.fail(ctx, c.Gate, "its worker stopped, and did not say whether it acted"); err != nil {
		return err
	}
	d.claims.Forget(c)
	return nil
}

// freeClaim has the attempt of a claim made by another worker.
func (d *Dispatcher) freeClaim(ctx context.Context, c *claims.Claim) error {
	if err := commit.AskEnded(ctx, d.core, commit.RefOf(c.Gate)); err != nil && !isOver(err) && !errors.Is(err, posthouse.ErrNotFound) {
		return err
	}
	err := d.claims.Free(ctx, c)
	d.finder.add(c.Gate, true)
	return err
}

// releaseClaims forgets the claims of a session, and ends their attempts. If end fails, the
// attempt goes on, and the task is open again: the worker and the engine that hears of it may be
// gone soon, or another worker may have the task.
func (d *Dispatcher) releaseClaims(s *sessions.Session, end func(*claims.Claim) error) {
	for _, c := range d.claims.Of(s.ID) {
		delivery := d.hints.Detach(c.ID.Gate)
		d.claims.Forget(c)
		err := end(c)
		switch {
		case delivery == nil:
		case err == nil:
			delivery.Ack()
		default:
			delivery.Later(0)
		}
		if err != nil {
			d.finder.add(c.Gate, true)
		}
	}
}

// errMoved says that another process knows the end of a claim.
var errMoved = errors.New("moved")

// moveClaims forgets the claims of a session that another process knows more of.
func (d *Dispatcher) moveClaims(s *sessions.Session) {
	d.releaseClaims(s, func(*claims.Claim) error { return errMoved })
}

// endSilent ends sessions that were silent for their lease. Others try their tasks again.
func (d *Dispatcher) endSilent(ctx context.Context) {
	for _, s := range d.sessions.TakeSilent() {
		d.endSession(ctx, s)
	}
}

// endLate ends attempts that take longer than they may. Others try their tasks again.
func (d *Dispatcher) endLate(ctx context.Context) {
	for _, c := range d.claims.Late() {
		if d.attempts.fail(ctx, c.Gate, "the attempt took longer than "+c.Gate.Call.Limits.Timeout.String()) == nil {
			d.claims.MarkLost(c.ID.Gate) // its worker hears of it
		}
	}
}

// endSession ends a session that is silent here, and fails its attempts. If another process has
// heard of it, or has ended it, that one knows the end of its claims.
func (d *Dispatcher) endSession(ctx context.Context, s sessions.Silent) {
	moved, err := d.sessions.HasMoved(ctx, s)
	switch {
	case errors.Is(err, posthouse.ErrNotFound):
		d.forgetSession(s.Session)
		return
	case err != nil:
		d.opt.Logger.Warn("cannot look for a silent worker", "session", s.ID, "error", err)
		d.sessions.Restore(s)
		return
	case moved:
		d.moveClaims(s.Session)
		return
	}
	d.opt.Logger.Warn("a worker is silent: others take its tasks", "worker", s.Name(), "session", s.ID)
	d.silent.Add(1)
	s.EndWaiters()
	d.releaseClaims(s.Session, func(c *claims.Claim) error {
		return d.attempts.fail(ctx, c.Gate, "worker "+s.Name()+" was silent for "+d.lease.String())
	})
	d.sessions.EndSilent(ctx, s.ID, s.Revision)
}

// forgetSession forgets a session that another process has ended.
func (d *Dispatcher) forgetSession(s *sessions.Session) {
	d.sessions.Forget(s)
	s.EndWaiters()
	d.moveClaims(s)
}
