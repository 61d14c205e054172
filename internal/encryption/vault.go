package encryption

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/delta"
)

// A Vault seals and opens the bodies of a store's threads, each with the data key of its
// thread's generation.
type Vault struct {
	Store   posthouse.Store
	Cipher  posthouse.Cipher // wraps data keys; nil: bodies are stored as they are
	Now     func() time.Time
	MaxBody int // the limit that the error of a body which is too large names
	Keys    dataKeys

	guard  guard
	packer delta.Packer
}

// NewVault returns the vault of a store.
func NewVault(store posthouse.Store, cipher posthouse.Cipher, now func() time.Time, maxBody int) *Vault {
	return &Vault{Store: store, Cipher: cipher, Now: now, MaxBody: maxBody, guard: guard{turn: make(chan struct{}, 1)}}
}
