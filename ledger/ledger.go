package ledger

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A Ledger is what programs and people use: it gives a [posthouse.Store] ids, deltas,
// hashes, signatures, conditional commits, gates, forks and events. It is safe
// for concurrent use; commits of different threads run at once.
type Ledger struct {
	core      *core.Core
	pollEvery time.Duration
}

// Open returns a Ledger over the store. The store stays the caller's: Close
// does not close it. [posthouse.ErrInvalid] for no store, and for options out of range.
func Open(store posthouse.Store, o *Options) (*Ledger, error) {
	if store == nil {
		return nil, posthouse.Invalid("store", "is nil")
	}
	opt, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Ledger{core.New(store, opt.config()), opt.Poll}, nil
}

// A Claim is a run's hold on a thread: see [Ledger.Claim].
type Claim = core.Claim

// A Ticket is a place in the line of those in this process that wait for a thread.
type Ticket = core.Ticket

// An Execution is what is on record of one execution of a node or handler.
type Execution = core.Execution
