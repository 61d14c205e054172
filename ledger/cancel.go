package ledger

import (
	"cmp"
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/commit"
)

// CancelOptions say what to cancel and why. Nil is the zero value.
type CancelOptions struct {
	Branch string // default [posthouse.MainBranch]
	By     string // who asks for it; at most 200 bytes
	Reason string // at most 4,000 bytes
	Claim  *Claim // set by the run that has the thread, to end itself

	// Head, if set, cancels the branch only as it was when somebody looked at it:
	// [posthouse.ErrConflict] if its head is another one.
	Head posthouse.ID
}

func (o *CancelOptions) withDefaults() (commit.Cancellation, error) {
	var c commit.Cancellation
	if o != nil {
		c = commit.Cancellation{Branch: o.Branch, By: o.By, Reason: o.Reason, Claim: o.Claim.held(), Head: o.Head}
	}
	c.Branch = cmp.Or(c.Branch, posthouse.MainBranch)
	if err := posthouse.ValidateName("branch", c.Branch); err != nil {
		return c, err
	}
	if len(c.Reason) > posthouse.MaxText || !text.IsUTF8(c.Reason) {
		return c, posthouse.Invalid("reason", "must be at most %d bytes of text", posthouse.MaxText)
	}
	return c, posthouse.CheckPerson("by", c.By)
}

// Cancel ends a branch.
//
// If no run has the thread, it appends a checkpoint of status cancelled, which cancels
// the branch's open gates, and returns it. If one has, it appends a request and returns
// the head unchanged; the run then ends the branch. A run of this process is notified
// at once by [Claim.Cancelled]. The next commit of one in another process fails with
// [posthouse.ErrCancelled], unless it is [Draft.AfterCancel]. If a branch is cancelled while
// it finishes, the first on record counts.
//
// A branch that is done, cancelled or asked to cancel stays as it is, and its head is
// returned. If a run of this process has recorded nothing yet, it is notified, and the
// returned header has no id. A second call after the run was lost ends the branch.
// [posthouse.ErrNotFound] for an unknown thread or branch.
//
// Threads whose end the branch waited for ([posthouse.GateThread]) are cancelled, too,
// unless the wait was inherited by a fork. If that fails the error says so; call again
// to complete it.
func (l *Ledger) Cancel(ctx context.Context, thread string, o *CancelOptions) (*posthouse.Header, error) {
	opt, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return commit.CancelThread(ctx, l.core, thread, opt)
}
