package posthouse

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/base/text"
)

// A Change describes a new checkpoint by what differs from its parent.
type Change struct {
	ID     ID   // "": a new one
	Parent ID   // "": the branch's head
	Root   bool // no parent, even if the branch has a head

	Kind         string // default [KindSave]
	Status       Status
	Coordination string // "": the parent's, or the thread
	Run          string
	Graph        string
	Fingerprint  string
	Node         string
	Agent        string
	By           string
	// Requesters are who asked for the change beside By, such as the senders of signals
	// that it follows. Those and By become requesters of later questions.
	Requesters []Requester
	Error      string
	Next       []string
	Skipped    int // steps since the parent that made no checkpoint; they are counted
	// MidStep marks an update in the middle of its parent's step. The record of
	// executions stays, except for unanswered questions. [ledger.Ledger.Save] finds out by itself
	// whether a state is saved in the middle of a step.
	MidStep   bool
	Labels    map[string]string
	Source    *Source
	CreatedAt time.Time // zero: now
	Story     Story     // of its node

	Parts    []Part            // what changed; parts not named are kept
	State    State             // or the whole state: parts not in it are dropped
	Metadata map[string]string // nil: the parent's
	Program  []Part            // changed parts of [Checkpoint.Program]; the others are kept
}

// A Part is a changed part of the state.
type Part struct {
	Name  string
	Codec string // "" is json
	Data  []byte // the value, or with Splice the new middle
	Drop  bool   // the part is gone

	// Splice keeps Prefix and Suffix bytes of the parent's value around Data: an
	// element appended to a JSON array of n bytes keeps n-1 and 1.
	Splice         bool
	Prefix, Suffix int
}

// A Step is a result to record once under its task, name and occurrence.
type Step struct {
	Task       string
	Name       string
	Occurrence uint32
	Effect     Effect
	Value      Value
	Grant      ID // the gate that licensed the effect by its decision, if one did

	// Unordered says that the result survived a [KindRestartStep]. Its place in the order of the
	// execution no longer counts.
	Unordered bool

	Story Story // how it came to its result
}

// A Committed describes what a commit made.
type Committed struct {
	Seq        uint64  // of the entry
	Hash       Hash    // of the entry
	Checkpoint *Header // nil without a checkpoint
	Gates      []Gate  // with their ids
	Decided    []Gate  // with their ids and decisions
	Release    *Release
}

const (
	MaxText   = 4000      // bytes of a reason or an error
	MaxTask   = 4000      // bytes of the name of a task or next node, or of a step with its enclosing steps
	MaxNode   = 3 * MaxID // bytes of a checkpoint's node: a name with each byte escaped
	MaxLabels = 16
	MaxNext   = 10000
)

// ValidateText checks a text that may be empty: at most [MaxID] bytes, no control
// characters.
func ValidateText(field, s string) error {
	if len(s) > MaxID || !text.Valid(s) {
		return Invalid(field, "must be at most %d bytes of text without control characters", MaxID)
	}
	return nil
}

// A Rule decides whether a commit may be written. Each commit is checked by all of
// Options.Rules, in their order, before anything is written. So a team keeps empty,
// oversized or secret-bearing states out of the log.
type Rule struct {
	Name string // 1 to 200 bytes; the error names it

	// Check returns nil to accept the commit. An error or a panic refuses it: nothing
	// is written, and the commit fails with an [ErrInvalid] that wraps the error and
	// has "rule" and the name as its Field. Check runs again when the Ledger rebuilds
	// the commit after a concurrent append. The thread is locked while Check runs: it
	// may read through the Ledger, but must not write.
	Check func(ctx context.Context, p *Proposal) error
}

// A Proposal is a commit before it is written, for a [Rule]. It must not be changed.
type Proposal struct {
	Thread string
	Branch string
	Header *Header // of the checkpoint, without its entry's number and hash; nil without a checkpoint
	Change *Change // the checkpoint as its writer gave it; nil without a checkpoint
	Steps  []Step  // results to record
	Gates  []Gate  // questions to open, with their ids

	Read func() (*Checkpoint, error)
}

// Checkpoint returns the checkpoint as it will be read back, with state and metadata.
// It is nil for a commit without a checkpoint. It may read the store; a rule that
// needs only Header costs nothing. After the check it fails with [ErrInvalid].
func (p *Proposal) Checkpoint() (*Checkpoint, error) {
	if p.Header == nil {
		return nil, nil
	}
	if p.Read == nil {
		return nil, Invalid("proposal", "is no more: ask for its checkpoint before Check returns")
	}
	return p.Read()
}
