package sqlitestore

import (
	"time"

	"github.com/posthouse/posthouse"
)

// A Sync says when a commit is on the disk.
type Sync uint8

const (
	// SyncFull syncs the write-ahead log at each commit: what was acknowledged
	// survives a killed process and a lost power supply.
	SyncFull Sync = iota
	// SyncNormal syncs only when the write-ahead log is folded into the
	// database, about every 4 MB: what was acknowledged survives a killed
	// process, but a lost power supply takes everything since that moment,
	// seconds or hours of it. The database stays consistent.
	SyncNormal
)

// Options are the settings of a store. The zero value, or nil, is a good one.
type Options struct {
	// ReadOnly opens the store for reading, beside a process that writes or
	// after one. It takes no lock and needs the database to exist; every write
	// is ErrReadOnly.
	ReadOnly bool

	// Sync is when a commit is durable; default SyncFull.
	Sync Sync

	// Readers is how many connections read at once, 1 to 64; default 4.
	Readers int

	// BusyTimeout is how long to wait for a program outside Posthouse that has
	// the database locked, such as the sqlite3 shell; default 5 s. Then the
	// call is ErrLocked.
	BusyTimeout time.Duration

	// Poll is how often a watch of a ReadOnly store looks for what another
	// process appended; default 200 ms. A store that writes does not poll.
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
