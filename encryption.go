package posthouse

import "time"

// An Encryption is what a store has on record about its encryption, and about
// decisions to write in the clear.
type Encryption struct {
	Encrypted bool            `json:"encrypted"`           // a Ledger without a Cipher is refused
	Since     time.Time       `json:"since,omitzero"`      // when that was found or last changed
	Decisions []ClearDecision `json:"decisions,omitempty"` // to write in the clear, oldest first; the newest 100
}

// A ClearDecision is a person's decision that an encrypted store may be written in the
// clear.
type ClearDecision struct {
	By     string    `json:"by"`               // who decided; 1 to 200 bytes of text
	Reason string    `json:"reason"`           // why; 1 to 200 bytes of text
	Thread string    `json:"thread,omitempty"` // set by the Ledger: only for this thread's import
	At     time.Time `json:"at"`               // set by the Ledger
}
