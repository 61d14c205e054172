package posthouse

import "context"

// A Rule decides whether a commit may be written. Each commit is checked by all of
// Options.Rules, in their order, before anything is written. So a team keeps empty,
// oversized or secret-bearing states out of the log.
type Rule struct {
	Name string // 1 to 200 bytes; the error names it

	// Check returns nil to accept the commit. An error or a panic refuses it: nothing
	// is written, and the commit fails with an [ErrInvalid] that wraps the error and
	// has "rule" and the name as its Field. Check runs again when the Ledger rebuilds
	// the commit after a concurrent append. The thread is locked meanwhile: Check may
	// read through the Ledger, but must not write.
	Check func(ctx context.Context, p *Proposal) error
}

// A Proposal is a commit before it is written, for a [Rule]. It must not be changed.
type Proposal struct {
	Thread string
	Branch string
	Header *Header // of the checkpoint, without its entry's number and hash; nil if there is none
	Change *Change // the checkpoint as its writer gave it; nil if there is none
	Steps  []Step  // results to record
	Gates  []Gate  // questions to open, with their ids

	Read func() (*Checkpoint, error)
}

// Checkpoint returns the checkpoint as it will be read back, with state and metadata.
// It is nil for a commit without one. It may read the store; a rule that needs only
// Header costs nothing. [ErrInvalid] after the check has ended.
func (p *Proposal) Checkpoint() (*Checkpoint, error) {
	if p.Header == nil {
		return nil, nil
	}
	if p.Read == nil {
		return nil, Invalid("proposal", "is no more: ask for its checkpoint before Check returns")
	}
	return p.Read()
}
