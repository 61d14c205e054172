package ledger

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// ReleaseOptions refine a release. Nil is the zero value.
type ReleaseOptions struct {
	Tags   []string // names for the version, at most 16, formed like ids but not numbers; later releases may reuse them
	By     string   // at most 200 bytes
	Reason string   // at most 4,000 bytes
	Failed bool     // recorded only: the work failed
	Claim  *Claim   // the caller's own hold on the thread, which the release ends

	// DryRun checks all that a release checks, and writes nothing: what is returned has no Hash.
	DryRun bool
}

// Release closes a thread's current generation as a version, numbered as the
// generation, and frees the thread's name.
//
// The thread then has no head, its lists are empty, and the next save under the name
// starts over. Old checkpoints still load by their ids, [posthouse.Query].Generation
// lists them, and [Ledger.Fork] continues one. Open gates are cancelled, on record.
// The threads that it waited for ([posthouse.GateThread]) are cancelled; an error
// beside a result says that this failed, and the release stands. Release fails with
// [posthouse.ErrNotFound] if there is nothing to release, and with
// [posthouse.ErrBusy] while another process runs the thread.
func (l *Ledger) Release(ctx context.Context, thread string, o *ReleaseOptions) (*posthouse.Release, error) {
	if o == nil {
		o = &ReleaseOptions{}
	}
	r, left, err := commit.Release(ctx, l.core, o.Claim.held(), thread, o.closing())
	if err != nil || o.DryRun {
		return r, err
	}
	return r, commit.CancelOrphans(ctx, l.core, thread, left, o.By)
}

func (o *ReleaseOptions) closing() *commit.Closing {
	if o == nil {
		return nil
	}
	return &commit.Closing{Tags: o.Tags, By: o.By, Reason: o.Reason, Failed: o.Failed, DryRun: o.DryRun}
}
