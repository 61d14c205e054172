package sqlitestore

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// A Sync says when a commit is on the disk.
type Sync uint8

const (
	// SyncFull syncs the write-ahead log at each commit. An acknowledged write survives a
	// killed process and a power loss.
	SyncFull Sync = iota
	// SyncNormal syncs only when the write-ahead log is folded into the database, about
	// every 4 MB. An acknowledged write survives a killed process, but a power loss takes
	// all writes since the last sync, which may be hours ago. The database stays
	// consistent.
	SyncNormal
)

// Options are the settings of a store. The zero value, or nil, is a good one.
type Options struct {
	// ReadOnly opens an existing store for reading, while a process writes or not. It takes
	// no lock. Every write fails with ErrReadOnly.
	ReadOnly bool

	// Sync is when a commit is durable; default SyncFull.
	Sync Sync

	// Readers is how many connections read at once, 1 to 64; default 4.
	Readers int

	// BusyTimeout is how long to wait for another program that has the database locked,
	// such as the sqlite3 shell; default 5 s. After that a call fails with ErrLocked.
	BusyTimeout time.Duration

	// Poll is how often a watch of a ReadOnly store looks for entries of the process that
	// writes; default 200 ms. A store that writes does not poll.
	Poll time.Duration
}

func (o *Options) withDefaults() (Options, error) {
	var v Options
	if o != nil {
		v = *o
	}
	if v.Readers == 0 {
		v.Readers = 4
	}
	if v.BusyTimeout == 0 {
		v.BusyTimeout = 5 * time.Second
	}
	if v.Poll == 0 {
		v.Poll = 200 * time.Millisecond
	}
	switch {
	case v.Sync > SyncNormal:
		return v, posthouse.Invalid("Sync", "%d is not one of SyncFull and SyncNormal", v.Sync)
	case v.Readers < 1 || v.Readers > 64:
		return v, posthouse.Invalid("Readers", "is %d; allowed are 1 to 64", v.Readers)
	case v.BusyTimeout < 0:
		return v, posthouse.Invalid("BusyTimeout", "is negative")
	case v.Poll < 0:
		return v, posthouse.Invalid("Poll", "is negative")
	}
	return v, nil
}

// Weak returns by what the store loses acknowledged writes: nothing with [SyncFull].
func (s *Store) Weak(ctx context.Context) ([]string, error) {
	switch {
	case s.lifecycle.Closed():
		return nil, s.lifecycle.ClosedError()
	case ctx.Err() != nil || s.opts.Sync == SyncFull:
		return nil, ctx.Err()
	}
	return []string{"Options.Sync is SyncNormal: a power cut loses all since the last sync"}, nil
}

// Info implements [posthouse.Informer].
func (s *Store) Info(ctx context.Context) (kind, promise string, bytes int64, err error) {
	promise = "what is acknowledged is synced to the disk: it outlives a power cut"
	if s.opts.Sync != SyncFull {
		promise = "what is acknowledged outlives the process, and a power cut only once it is synced"
	}
	return "SQLite", promise, size(s.path), ctx.Err()
}
