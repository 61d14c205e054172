package posthouse

import "time"

// An Event is one record as it became durable.
type Event struct {
	Cursor string     `json:"cursor"` // to continue behind this event: see [ledger.WatchQuery]
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
}
