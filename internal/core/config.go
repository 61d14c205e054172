package core

import (
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/trace"
)

// A Config is the part of a Ledger's options that a Core needs, with defaults filled
// in.
type Config struct {
	Now            func() time.Time
	Signer         posthouse.Signer   // nil: entries are not signed
	Verifier       posthouse.Verifier // nil: hashes alone are checked
	Cipher         posthouse.Cipher   // nil: bodies are stored as they are
	Logger         *slog.Logger
	Observer       posthouse.Observer // may be nil
	Tracer         trace.Tracer       // may be nil
	Appended       func([]posthouse.Record, time.Duration, error)
	Reached        func(thread string, end posthouse.Position, link posthouse.Hash) // after each append; may be nil
	MaxState       int                                                              // bytes of one checkpoint's state
	MaxCheckpoints int                                                              // of the store; 0: no cap
	Owner          string                                                           // "": a random one
	LeaseTTL       time.Duration                                                    // a silent owner's threads are free after it
}

// RenewEvery returns the time between two renewals of this process's liveness, and
// between two looks at another's: a sixth of LeaseTTL, between a millisecond and a second.
//
// With the default LeaseTTL of 3 s it is 0.5 s, from which follows what a lease stands
// and how soon it ends:
//   - A store that stalls every call for 2 s lets 0.5 + 2 = 2.5 s pass between two
//     renewals at most, which is less than 3 s: the owner keeps its threads.
//   - Another process sees the last renewal 0.5 s late at most, waits for 3 s, and looks
//     again 0.5 s later at most: an owner that is gone loses its threads within 4 s. If
//     it was gone before a sweep of a runner first saw its claim, that is Poll (1 s)
//     instead of the first 0.5 s.
func (c *Config) RenewEvery() time.Duration {
	return max(min(time.Second, c.LeaseTTL/6), time.Millisecond)
}

// TakeoverTime is how long a process has to look at a lease until it takes over from an owner that
// is gone: the owner's silence lasts for LeaseTTL between two of its looks, in full seconds.
func (c *Config) TakeoverTime() time.Duration {
	return (c.LeaseTTL + 2*c.RenewEvery() + time.Second - 1).Truncate(time.Second)
}
