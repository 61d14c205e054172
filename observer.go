package posthouse

import "time"

// An Observer is called once for each logical operation, after it is durable, alike on
// every store. It runs on the caller's goroutine: it must be quick and safe for
// concurrent use. A panic is logged and swallowed. The observer owns the Operation. For
// a durable feed that misses nothing use [ledger.Ledger.Watch].
type Observer func(Operation)

// An OperationKind says what was done.
type OperationKind string

// The kinds of operations.
const (
	OpSaved     OperationKind = "saved"     // a checkpoint was committed
	OpLoaded    OperationKind = "loaded"    // a checkpoint was read with its state
	OpForked    OperationKind = "forked"    // a fork was made; Source is set
	OpDeleted   OperationKind = "deleted"   // a checkpoint, release, thread or coordination was deleted
	OpEvicted   OperationKind = "evicted"   // retention removed a checkpoint, by policy or by the cap
	OpSignalled OperationKind = "signalled" // a signal was sent; before OpDecided of the gates that it answers
	OpVoted     OperationKind = "voted"     // somebody voted on a gate; before OpDecided if the vote decided it
	OpDecided   OperationKind = "decided"   // a gate got its decision
	OpReleased  OperationKind = "released"  // a thread was released
	OpCopied    OperationKind = "copied"    // a thread was copied; Source names the original
)

// An Operation describes what was done.
type Operation struct {
	Kind   OperationKind
	At     time.Time
	Thread string

	// Coordination is the checkpoint's, else the thread's at that time. OpDeleted has
	// it only for a deleted coordination.
	Coordination string

	ID      ID        // of the checkpoint; of the gate for OpDecided and OpVoted, of the signal for OpSignalled
	Source  *Source   // of OpForked and OpCopied
	Header  *Header   // of OpSaved, OpLoaded and OpForked
	Gate    *Gate     // of OpDecided, and of OpVoted as the vote left it
	Vote    *Decision // of OpVoted
	Signal  *Signal   // of OpSignalled
	Release *Release  // of OpReleased, and of OpDeleted where a release was

	// Count is the number of checkpoints that were deleted, copied or released.
	Count int
}

// Tee returns an Observer that calls each of obs in turn; nil ones are skipped.
func Tee(obs ...Observer) Observer {
	return func(op Operation) {
		for _, o := range obs {
			if o != nil {
				o(op)
			}
		}
	}
}

// An Event is one record as it became durable.
type Event struct {
	Cursor string     `json:"cursor"` // to continue after this event: see [ledger.WatchQuery]
	Kind   RecordKind `json:"kind"`
	Thread string     `json:"thread"`
	Seq    uint64     `json:"seq"`
	At     time.Time  `json:"at"`

	Checkpoint *Header      `json:"checkpoint,omitempty"`
	Step       *StepInfo    `json:"step,omitempty"`
	Gate       *Gate        `json:"gate,omitempty"`
	Decision   *Decision    `json:"decision,omitempty"`
	Claim      *ClaimInfo   `json:"claim,omitempty"`
	Removal    *RemovalInfo `json:"removal,omitempty"`
	Vote       *Decision    `json:"vote,omitempty"`
	Assignment *Assignment  `json:"assignment,omitempty"`
	Release    *ReleaseInfo `json:"release,omitempty"`
	Signal     *Signal      `json:"signal,omitempty"`
	Take       *TakeInfo    `json:"take,omitempty"`
	Notice     *Notice      `json:"notice,omitempty"` // of a gate: a reminder, a snooze

	LastError string `json:"lastError,omitempty"` // of the attempt before the one that a step or checkpoint is of; of the record of a failed attempt: its own
	Notes     []Note `json:"notes,omitempty"`     // on the step or checkpoint
}
