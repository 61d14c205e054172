package ledger

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// A Draft is one commit: all of it becomes durable, or nothing. It may be committed again, but
// not by two goroutines at once.
type Draft struct {
	Thread string
	Branch string // "" is main
	Claim  *Claim // the run's lease; nil for a change made by hand

	// Head, if set, is the expected head of the branch; "" expects no such branch.
	// Otherwise the commit fails with [posthouse.ErrConflict].
	Head *posthouse.ID

	Checkpoint      *posthouse.Change // at most one
	Steps           []posthouse.Step
	ConsumedSignals []posthouse.Take // signals that these steps consume
	Gates           []posthouse.Gate // opened with the checkpoint, which must be waiting
	// Keep lists open gates of the branch that stay open; a new checkpoint cancels the
	// others. If one was decided since, a waiting checkpoint becomes ready.
	Keep     []posthouse.ID
	KeepOpen bool // every open gate of the branch stays open, except those superseded or withdrawn here
	// Left lists open gates of threads that were called and that an update in the middle of
	// a step leaves for good: the threads are cancelled, too. Other checkpoints that leave
	// such gates list them themselves.
	Left     []posthouse.ID
	Withdraw []posthouse.ID // open gates of the branch to cancel, even with KeepOpen, and without a checkpoint

	WithdrawReason string // on record with those; default that the branch went on without them

	Decided     []posthouse.Gate // questions that a policy of the program answered, with their Decision; never open
	AfterCancel bool             // with a claim: the commit holds what was done before a request to cancel, and is accepted

	// Release, if set, closes the thread's generation after the draft, in the same
	// commit; see [Ledger.Release]. Its Claim is the draft's.
	Release *ReleaseOptions

	room commit.Plan
}

// plan makes the plan of the draft, in the draft's own memory.
func (d *Draft) plan() *commit.Plan {
	d.room = commit.Plan{
		Thread: d.Thread, Branch: d.Branch, Claim: d.Claim.held(), Head: d.Head, Checkpoint: d.Checkpoint, Steps: d.Steps, ConsumedSignals: d.ConsumedSignals,
		Gates: d.Gates, Decided: d.Decided, AfterCancel: d.AfterCancel, Release: d.Release.closing(),
		Open: commit.OpenGates{Keep: d.Keep, KeepAll: d.KeepOpen, Left: d.Left, Withdraw: d.Withdraw, Reason: d.WithdrawReason},
	}
	return &d.room
}
