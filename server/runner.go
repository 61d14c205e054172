package server

import (
	"context"

	"github.com/posthouse/posthouse"
)

// A Runner moves threads. Package runner's is one with an adapter.
type Runner interface {
	// Wait returns a branch's head once no process runs it, and the head's sequence number is above after or
	// nothing is left to run after that number. The error is that of ctx if it ends
	// first.
	Wait(ctx context.Context, thread, branch string, after uint64) (*posthouse.Header, error)

	// Resume starts a branch again that was interrupted, failed or crashed. It does
	// not wait for the outcome.
	Resume(ctx context.Context, thread, branch string) error
}

// A ReplayChecker is a [Runner] that knows what its programs would refuse to run. A refused
// replay then leaves no branch. Package runner's is one.
type ReplayChecker interface {
	// CheckReplay returns why a run that begins at a checkpoint would be refused, nil if it
	// would not.
	CheckReplay(ctx context.Context, c *posthouse.Checkpoint) error
}

// A StateChecker is a [Runner] that knows the parts of its programs' states. A fork with a
// part that is misspelt, or does not fit, is then refused. Package runner's is one.
type StateChecker interface {
	CheckState(c *posthouse.Checkpoint, changed posthouse.State) error
}

// A StateKnower is a [StateChecker] that says which programs' parts it knows. A patch may
// give these also where the checkpoint does not have them; of other threads it may give only what
// the checkpoint has. Package runner's is one.
type StateKnower interface {
	KnowsState(c *posthouse.Checkpoint) bool
}
