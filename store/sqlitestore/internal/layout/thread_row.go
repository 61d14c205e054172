package layout

import "github.com/posthouse/posthouse"

// MaxLag bounds how many entries of its log the stored summary of a running thread may
// lack. Writing a summary costs half of what an entry costs, and a reader applies the
// headers that are missing. A thread at rest has a summary of its last entry.
const MaxLag = 16

// A ThreadRow is the columns that queries look at. They are written only when they
// change, because SQLite rewrites the index entries of each column it sets.
type ThreadRow struct {
	Flags  int64
	Active int64
	Due    posthouse.Millis
	Minute posthouse.Millis // of the last entry
}

// Marks of threads.active.
const (
	ActiveWaiting = 1
	ActiveLive    = 2
)

// FlagDisorder is a bit of threads.flags: order keys do not ascend with the
// sequence numbers.
const FlagDisorder = 1

// RowOf returns the columns for a summary.
func RowOf(info *posthouse.ThreadInfo, flags int64) ThreadRow {
	row := ThreadRow{Flags: flags, Due: info.Due, Minute: info.Minute()}
	if len(info.Waiting) > 0 {
		row.Active |= ActiveWaiting
	}
	if info.Runnable() || info.Lease.Held {
		row.Active |= ActiveLive
	}
	return row
}

// MayLag reports whether the stored summary may lag the log: the thread runs.
func (r *ThreadRow) MayLag() bool { return r.Active&ActiveLive != 0 }
