package ledger

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// ReleaseOptions refine a release. Nil is the zero value.
type ReleaseOptions struct {
	Tags   []string // names for the version, at most 16, formed like ids; not numbers. A later release may have the same
	By     string   // at most 200 bytes
	Reason string   // at most 4,000 bytes
	Failed bool     // the work failed: says so in the record, and changes nothing else
	Claim  *Claim   // the caller's own hold on the thread, which ends with the release
}

// Release closes a thread's current generation as a version, whose number is
// the generation's, and frees the thread's name: there is no head any more,
// lists of the thread are empty, and what is saved under the name next begins
// anew. The old checkpoints still load by their ids, [posthouse.Query].Generation lists
// them, and [Ledger.Fork] takes one up again. Open gates are cancelled, on
// record. [posthouse.ErrNotFound] if there is nothing to release; [posthouse.ErrBusy] while
// somebody else runs the thread. Threads whose end it waited for ([posthouse.GateThread])
// are cancelled; an error with a result says that this failed, and the release
// stands.
func (l *Ledger) Release(ctx context.Context, thread string, o *ReleaseOptions) (*posthouse.Release, error) {
	if o == nil {
		o = &ReleaseOptions{}
	}
	r, left, err := commit.Release(ctx, l.core, o.Claim, thread, o.closing())
	if err != nil {
		return nil, err
	}
	return r, commit.CancelOrphans(ctx, l.core, thread, left, o.By)
}

// closing returns the options as a commit takes them.
func (o *ReleaseOptions) closing() *commit.Closing {
	if o == nil {
		return nil
	}
	return &commit.Closing{Tags: o.Tags, By: o.By, Reason: o.Reason, Failed: o.Failed}
}
