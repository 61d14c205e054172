package ledger

import (
	"context"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
)

// A LogEntry is an entry of a thread's log with its records decoded.
type LogEntry struct {
	*posthouse.Entry
	At      time.Time
	Records []posthouse.Record
	Events  []*posthouse.Event // the records with the content of their bodies, if bodies were asked for
}

// Log yields a thread's entries, checked: each against its hash and against the entry
// before it, and the last against the thread's summary.
//
// [posthouse.ErrCorrupt], with thread and place, for an entry that was changed and
// where entries are missing. Gaps of deleted threads and dropped releases are not
// errors. With r.Seqs it checks these entries only, and passes over absent ones. An
// unknown thread has no entries. [posthouse.ErrConflict] if the thread was removed,
// without a record, during the read.
func (l *Ledger) Log(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*LogEntry, error] {
	return func(yield func(*LogEntry, error) bool) {
		if err := posthouse.ValidateName("thread", thread); err != nil {
			yield(nil, err)
			return
		}
		for e, err := range l.core.Logs.InOrder(ctx, thread, r) {
			if err != nil {
				yield(nil, err)
				return
			}
			le := &LogEntry{Entry: e, At: e.Time()}
			if r.Headers {
				e.Bodies = nil
			}
			le.Records, err = e.CheckRecords()
			if err == nil && !r.Headers {
				le.Events, err = eventsOf(ctx, l.core.Core, e, le.Records)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(le, nil) {
				return
			}
		}
	}
}
