package ledger

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// Commit appends one entry: the whole draft becomes durable, or nothing of it.
//
// It fails with [posthouse.ErrConflict] if draft.Head is not the branch's head
// (Error.Head is), with [posthouse.ErrFenced] if a newer claim owns the thread, with
// [posthouse.ErrBusy] if the draft has no claim and somebody else runs the thread, with
// [posthouse.ErrTooLarge] beyond Options.MaxState. After [posthouse.ErrUnknown] the
// outcome is not known; committing again under the same Head is safe.
//
// An input, an update that leaves its step, a saved checkpoint and a release cancel the
// threads that the branch waited for ([posthouse.GateThread]). An error beside a result
// says that this failed; the commit stands.
func (l *Ledger) Commit(ctx context.Context, d *Draft) (*posthouse.Committed, error) {
	for i := range d.Gates { // gates that a fork or a copy inherits are not checked again
		if err := commit.CheckNames(&d.Gates[i]); err != nil {
			return nil, err
		}
	}
	return l.commitPlan(ctx, d.plan())
}

func (l *Ledger) commitPlan(ctx context.Context, p *commit.Plan) (*posthouse.Committed, error) {
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
	commit.WakeCaller(ctx, l.core, made.Caller, p.Thread)
	return &made.Committed, commit.CancelOrphans(ctx, l.core, p.Thread, made.Left, by)
}
