package notify

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// An item is a record with messages, as it comes from the log.
type item struct {
	thread   string
	seq      uint64
	place    place // after it
	messages []*Message
}

// A feed reads the log for one endpoint, one record ahead of what is sent.
type feed struct {
	source *source
	log    *slog.Logger
	name   string
	items  chan *item

	mu     sync.Mutex
	cursor string    // of the newest record without messages that follows all items that were taken
	at     time.Time // of its entry; zero: not known
	scan   *scan     // nil: it follows a cursor of the store
}

// A scan is a search for the endpoint's place by time, from the beginning of the log. It is kept with the
// cursors that it reaches: in a copied store, older entries may follow newer ones.
type scan struct {
	After time.Time `json:"after"` // what happened before is left out
	Until time.Time `json:"until"` // an entry of this time was written after the scan began: it ends the scan
}

// A place is how far a feed is.
type place struct {
	cursor string
	at     time.Time // zero: not known
	scan   *scan     // under way there
}

// passed returns how far the feed has read after the newest item that was taken, with the cursor "" if
// no further. No item is between that one and there.
func (f *feed) passed() place {
	f.mu.Lock()
	defer f.mu.Unlock()
	return place{f.cursor, f.at, f.scan}
}

func (f *feed) pass(p place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cursor, f.at = p.cursor, p.at
}

// forget is called before an item is handed out: what was passed before it counts no more.
func (f *feed) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cursor = ""
}

// overlap is how far a feed goes back in time where it has no cursor of the store, since the
// clocks of processes differ. A message that is told twice has the same id.
const overlap = time.Minute

// search begins a scan that leaves out what happened long before the newest entry of a time, and all
// that an earlier scan left out.
func (f *feed) search(since, at time.Time) {
	after := since.Truncate(time.Millisecond) // entries have their time in milliseconds
	if t := at.Add(-overlap); t.After(after) {
		after = t
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.scan != nil && f.scan.After.After(after) {
		after = f.scan.After
	}
	f.scan = &scan{After: after, Until: f.source.ledger.Now().Add(overlap)}
}

// scanned returns the scan that is under way at an entry, nil without a scan, and where the entry ends it.
func (f *feed) scanned(e *posthouse.Event) *scan {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.scan != nil && !e.At.Before(f.scan.Until) {
		f.scan = nil
	}
	return f.scan
}

// run reads until ctx ends. It begins with watch, if that is given, else after a cursor or, without a
// cursor, with a scan: from the newest entry that was told on, and not before since.
func (f *feed) run(ctx context.Context, watch iter.Seq2[*posthouse.Event, error], cursor string, since, at time.Time) {
	for ctx.Err() == nil {
		if watch == nil {
			if cursor == "" {
				f.search(since, at)
			}
			watch = f.source.ledger.Watch(ctx, ledger.WatchQuery{Cursor: cursor})
		}
		reached, refused, err := f.read(ctx, watch, cursor)
		watch = nil
		if ctx.Err() != nil {
			return
		}
		if refused && reached == cursor && cursor != "" {
			f.log.Warn("the place of an endpoint in the log is of another store: it goes on by time", "endpoint", f.name, "at", at)
			cursor = ""
		} else {
			f.log.Warn("cannot read the log for an endpoint; trying again", "endpoint", f.name, "error", err)
			cursor = reached
		}
		if !sleep(ctx, time.Second) {
			return
		}
	}
}

// read hands out items until ctx ends or an error comes, and returns the cursor that it reached.
// refused says that the store does not know the cursor of the watch.
func (f *feed) read(ctx context.Context, watch iter.Seq2[*posthouse.Event, error], cursor string) (reached string, refused bool, err error) {
	for e, err := range watch {
		if e == nil {
			return cursor, errors.Is(err, posthouse.ErrInvalid), err
		}
		there := place{cursor: e.Cursor, at: e.At, scan: f.scanned(e)}
		if there.scan != nil {
			there.at = time.Time{} // newer entries may follow, and be told of only if the scan can begin again before them
		}
		switch {
		case err != nil:
			f.log.Error("an entry cannot be read, and an endpoint is not told of it", "endpoint", f.name, "thread", e.Thread, "seq", e.Seq, "error", err)
		case there.scan == nil || !e.At.Before(there.scan.After):
			messages, err := f.source.messages(ctx, e)
			if err != nil {
				return cursor, false, err
			}
			if len(messages) == 0 {
				break
			}
			f.forget()
			select {
			case f.items <- &item{e.Thread, e.Seq, there, messages}:
				cursor = e.Cursor
			case <-ctx.Done():
				return cursor, false, ctx.Err()
			}
			continue
		}
		cursor = e.Cursor
		f.pass(there)
	}
	return cursor, false, ctx.Err()
}
