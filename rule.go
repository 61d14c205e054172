package posthouse

import (
	"context"
)

// A Rule is a further say in what may be written: Options.Rules are asked, in
// their order, about every commit before anything of it is. It is how a team
// keeps empty, oversized or secret-bearing states out of the log, whoever
// saves them.
type Rule struct {
	Name string // 1 to 200 bytes; the error names it

	// Check returns nil to let the commit pass. Any error, or a panic, refuses
	// it: nothing is written, the commit fails with an [ErrInvalid] that wraps
	// the error, its Field being "rule" and the name. When an append in between
	// makes the Ledger build the commit anew, Check is asked again. It runs
	// while the thread is held: it may read through the Ledger, but not write.
	Check func(ctx context.Context, p *Proposal) error
}

// A Proposal is a commit that is about to be written, for a [Rule] to look at.
// Nothing in it may be changed.
type Proposal struct {
	Thread string
	Branch string
	Header *Header // of the checkpoint, number and hash of its entry aside; nil where there is none
	Change *Change // the checkpoint as its writer told it; nil where there is none
	Steps  []Step  // results to record
	Gates  []Gate  // questions to open, with their ids

	Read func() (*Checkpoint, error)
}

// Checkpoint returns the checkpoint as it will be read back, with state and
// metadata. It is nil for a commit without one. What the process does not have in
// memory is read from the store; a rule that can do with Header costs nothing.
// [ErrInvalid] once the commit was let pass or refused.
func (p *Proposal) Checkpoint() (*Checkpoint, error) {
	if p.Header == nil {
		return nil, nil
	}
	if p.Read == nil {
		return nil, Invalid("proposal", "is no more: ask for its checkpoint before Check returns")
	}
	return p.Read()
}
