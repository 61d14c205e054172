package ledger

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// Commit appends one entry: what the draft holds becomes durable together, or
// not at all. It fails with [posthouse.ErrConflict] if draft.Head is not the branch's
// head (Error.Head says what is), with [posthouse.ErrFenced] if a newer claim owns the
// thread, with [posthouse.ErrBusy] if the draft has no claim and somebody else runs the
// thread, with [posthouse.ErrTooLarge] beyond Options.MaxState. With [posthouse.ErrUnknown] the
// outcome is not known; committing again is safe under the same Head.
//
// An input, an update that leaves its step, a checkpoint that is saved and a
// release cancel the threads whose end the branch waited for ([posthouse.GateThread]); an
// error with a result says that this failed, and the commit stands.
func (l *Ledger) Commit(ctx context.Context, d *Draft) (*posthouse.Committed, error) {
	for i := range d.Gates { // not of those that a fork or a copy takes along
		if err := commit.CheckNames(&d.Gates[i]); err != nil {
			return nil, err
		}
	}
	return l.commit(ctx, d.plan())
}

// commit is Commit of any plan.
func (l *Ledger) commit(ctx context.Context, p *commit.Plan) (*posthouse.Committed, error) {
	made, err := commit.Run(ctx, l.core, p)
	if err != nil {
		return nil, err
	}
	by := ""
	if made.Checkpoint != nil {
		by = p.Checkpoint.By
		l.core.Observe.Checkpoint(posthouse.OpSaved, made.Checkpoint)
		l.core.EnforceCap(ctx)
	}
	if made.Release != nil {
		l.core.Observe.Released(made.Release, made.Coordination)
	}
	return &made.Committed, commit.CancelOrphans(ctx, l.core, p.Thread, made.Left, by)
}
