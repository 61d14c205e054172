package posthouse

import (
	"context"
	"time"
)

// A Cipher wraps data keys. With one in [ledger.Options], what people and programs
// store is sealed before it reaches the store.
//
// Each generation of each thread has a random data key. The Ledger seals bodies with it
// (AES-256-GCM), and keeps it in the store, wrapped by one of the Cipher's keys. So the
// Cipher is asked once a thread, not once a step: it may be a key management service.
// [crypt.Keyring] is a Cipher with keys in memory.
//
// Methods must be safe for concurrent use. Their errors are reported as [ErrSealed]
// with the thread and the key's id; a cancelled ctx is reported as itself.
type Cipher interface {
	// Current returns the name of the key for new data keys: 1 to 200 bytes of text.
	// Names are stored in the clear. A name must always mean the same key.
	Current() string

	// Wrap encrypts a data key of 32 bytes with the named key, which is the current
	// one. It authenticates binding: Unwrap must fail with any other binding. The
	// result is at most 16 KiB.
	Wrap(ctx context.Context, key string, dataKey, binding []byte) ([]byte, error)

	// Unwrap undoes Wrap with the named key, which may be an older one.
	Unwrap(ctx context.Context, key string, wrapped, binding []byte) ([]byte, error)
}

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
