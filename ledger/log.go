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
	Events  []*posthouse.Event // the records with what their bodies say, where bodies were asked for
}

// Log yields a thread's entries, each checked against its hash, against the entry
// before it and against where the thread's summary says that the log ends:
// [posthouse.ErrCorrupt] with thread and place for one that was changed, and where some are
// missing. Gaps that a deleted thread or a dropped release left are none. Of
// r.Seqs the entries are checked alone, and those absent are passed over. An
// unknown thread has no entries. [posthouse.ErrConflict] if the thread was removed, and not
// by a record of it, while it was read.
func (l *Ledger) Log(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*LogEntry, error] {
	return func(yield func(*LogEntry, error) bool) {
		if err := posthouse.ValidateName("thread", thread); err != nil {
			yield(nil, err)
			return
		}
		for e, err := range l.core.InOrder(ctx, thread, r) {
			if err != nil {
				yield(nil, err)
				return
			}
			le := &LogEntry{Entry: e, At: e.Time()}
			if r.Headers {
				e.Bodies = nil
			}
			if le.Records, err = e.CheckRecords(); err == nil && !r.Headers {
				le.Events, err = eventsOf(ctx, l.core, e, le.Records)
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
