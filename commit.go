package posthouse

import "context"

// Commit appends one entry: what the draft holds becomes durable together, or
// not at all. It fails with [ErrConflict] if draft.Head is not the branch's
// head (Error.Head says what is), with [ErrFenced] if a newer claim owns the
// thread, with [ErrBusy] if the draft has no claim and somebody else runs the
// thread, with [ErrTooLarge] beyond Options.MaxState. With [ErrUnknown] the
// outcome is not known; committing again is safe under the same Head.
//
// An input, an update that leaves its step, a checkpoint that is saved and a
// release cancel the threads whose end the branch waited for ([GateThread]); an
// error with a result says that this failed, and the commit stands.
func (l *Ledger) Commit(ctx context.Context, d *Draft) (*Committed, error) {
	for i := range d.Gates { // not of those that a fork or a copy takes along
		if err := d.Gates[i].checkNames(); err != nil {
			return nil, err
		}
	}
	return l.commit(ctx, d.plan())
}

// commit is Commit of any plan.
func (l *Ledger) commit(ctx context.Context, p *Plan) (*Committed, error) {
	made, err := RunPlan(ctx, l.Core, p)
	if err != nil {
		return nil, err
	}
	by := ""
	if made.Checkpoint != nil {
		by = p.Checkpoint.By
		l.observeCheckpoint(OpSaved, made.Checkpoint)
		l.evict(ctx)
	}
	if made.Release != nil {
		l.observeReleased(made.Release)
	}
	return &made.Committed, l.forsake(ctx, p.Thread, made.Left, by)
}
