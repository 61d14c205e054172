package ledger

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// A Draft is one commit: all of it becomes durable at once, or none.
type Draft struct {
	Thread string
	Branch string // "" is main
	Claim  *Claim // the run's lease; nil for a change made by hand

	// Head, if set, is what the branch's head must be, "" meaning that there is
	// no such branch. Otherwise the commit fails with [posthouse.ErrConflict].
	Head *posthouse.ID

	Checkpoint *posthouse.Change // at most one
	Steps      []posthouse.Step
	Takes      []posthouse.Take // signals whose values the steps are
	Gates      []posthouse.Gate // opened with the checkpoint, which must be waiting
	Keep       []posthouse.ID   // open gates of the branch that stay open, the others being cancelled by a new checkpoint; if one was decided meanwhile, a waiting checkpoint becomes ready
	KeepOpen   bool             // every open gate of the branch stays open, but for those that Gates supersede and those to Withdraw
	Withdraw   []posthouse.ID   // open gates of the branch that are cancelled, also with KeepOpen: nobody asks them any more
	Decided    []posthouse.Gate // questions with their Decision, as a policy of the program took it: on record, and never open
	Late       bool             // with a claim: what its run had done before it was asked to cancel, which is no reason to refuse it

	// Release, if set, closes the thread's generation behind the draft, in the same
	// commit; see [Ledger.Release]. Its Claim is the draft's.
	Release *ReleaseOptions
}

// plan returns the draft as the stages of a commit take it.
func (d *Draft) plan() *commit.Plan {
	return &commit.Plan{
		Thread: d.Thread, Branch: d.Branch, Claim: d.Claim, Head: d.Head, Checkpoint: d.Checkpoint, Steps: d.Steps, Takes: d.Takes,
		Gates: d.Gates, Keep: d.Keep, KeepOpen: d.KeepOpen, Withdraw: d.Withdraw, Decided: d.Decided, Late: d.Late, Release: d.Release.closing(),
	}
}
