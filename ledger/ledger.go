package ledger

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
)

// A Ledger is the front over a [posthouse.Store]: it adds ids, deltas, hashes,
// signatures, conditional commits, gates, forks and events. It is safe for concurrent
// use; commits of different threads run concurrently.
type Ledger struct {
	core      *commit.Committer
	pollEvery time.Duration
}

// Open returns a Ledger over the store. Closing the Ledger does not close the store.
// [posthouse.ErrInvalid] for a nil store, and for options out of range.
func Open(store posthouse.Store, o *Options) (*Ledger, error) {
	if store == nil {
		return nil, posthouse.Invalid("store", "is nil")
	}
	opt, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Ledger{&commit.Committer{Core: core.New(store, opt.config()), Rules: opt.rules()}, opt.Poll}, nil
}
