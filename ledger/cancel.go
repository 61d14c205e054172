package ledger

import (
	"cmp"
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/text"
)

// CancelOptions say what to cancel and why. Nil is the zero value.
type CancelOptions struct {
	Branch string // default [posthouse.MainBranch]
	By     string // who asks for it; at most 200 bytes
	Reason string // at most 4,000 bytes
	Claim  *Claim // set by the run that has the thread, to end itself
}

func (o *CancelOptions) withDefaults() (commit.Cancellation, error) {
	var c commit.Cancellation
	if o != nil {
		c = commit.Cancellation{Branch: o.Branch, By: o.By, Reason: o.Reason, Claim: o.Claim}
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

// Cancel ends a branch. If no run has the thread it appends a checkpoint of
// status cancelled, which cancels the branch's open gates, and returns it. If
// one has, it appends a request and returns the head as it is: a run of this
// process learns of it at once by [Claim.Cancelled], one of another process by
// its next commit, which fails with [posthouse.ErrCancelled] unless it is [Draft.Late].
// Either then ends the branch itself. Of cancelling and finishing the first on
// record stands.
//
// A branch that is done or cancelled, or asked to cancel before, stays as it
// is; its head is returned. Where a run of this process has recorded nothing
// yet it is told, and the header returned has no id. Calling again after the
// run was lost ends the branch. [posthouse.ErrNotFound] for a thread or branch that is
// not there.
//
// Threads whose end a cancelled branch waited for ([posthouse.GateThread]) are cancelled,
// too, but not what a fork took along a wait for and its source waits for. If
// that fails the error says so, and another call makes up for it.
func (l *Ledger) Cancel(ctx context.Context, thread string, o *CancelOptions) (*posthouse.Header, error) {
	opt, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return commit.CancelThread(ctx, l.core, thread, opt)
}
