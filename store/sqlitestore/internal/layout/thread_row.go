package layout

import "github.com/posthouse/posthouse"

// MaxLag bounds how many entries the summary of a thread that is being moved
// may be behind its log. Writing it costs half of what the entry costs, and a
// reader brings it up to date by the headers of what is missing. Nobody reads
// more than that: a thread that rests has a summary of its last entry.
const MaxLag = 16

// A ThreadRow is the columns that queries look at; they are written only when
// they change, because SQLite rewrites the index entries of a column it sets.
type ThreadRow struct {
	Flags  int64
	Active int64
	Due    posthouse.Millis
}

// Marks of threads.active.
const (
	ActiveWaiting = 1
	ActiveLive    = 2
)

// FlagDisorder is a bit of threads.flags: order keys do not ascend with the
// sequence numbers.
const FlagDisorder = 1

// RowOf returns the columns that go with a summary.
func RowOf(info *posthouse.ThreadInfo, flags int64) ThreadRow {
	row := ThreadRow{Flags: flags, Due: info.Due}
	if len(info.Waiting) > 0 {
		row.Active |= ActiveWaiting
	}
	if info.Runnable() || info.Lease.Held {
		row.Active |= ActiveLive
	}
	return row
}

// MayLag reports whether the columns let the summary be behind the log.
func (r *ThreadRow) MayLag() bool { return r.Active&ActiveLive != 0 }
