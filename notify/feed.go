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
	cursor   string // after it
	at       time.Time
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
	at     time.Time // of its entry
}

// passed returns how far the feed has read after the newest item that was taken, "" if no further. No
// item is between that one and there.
func (f *feed) passed() (cursor string, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cursor, f.at
}

func (f *feed) pass(e *posthouse.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cursor, f.at = e.Cursor, e.At
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

// run reads until ctx ends. It begins with watch, if that is given, else after a cursor or, without a
// cursor, with what happened since a time.
func (f *feed) run(ctx context.Context, watch iter.Seq2[*posthouse.Event, error], cursor string, since time.Time) {
	after := time.Time{}
	if watch == nil && cursor == "" {
		after = since.Truncate(time.Millisecond) // entries have their time in milliseconds
	}
	for ctx.Err() == nil {
		if watch == nil {
			watch = f.source.ledger.Watch(ctx, ledger.WatchQuery{Cursor: cursor})
		}
		reached, err := f.read(ctx, watch, cursor, after)
		watch = nil
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, posthouse.ErrInvalid) && reached == cursor && cursor != "" {
			f.log.Warn("the place of an endpoint in the log is of another store: it goes on by time", "endpoint", f.name, "since", since)
			cursor, after = "", since.Add(-overlap)
		} else {
			f.log.Warn("cannot read the log for an endpoint; trying again", "endpoint", f.name, "error", err)
			cursor = reached
			if cursor != "" {
				after = time.Time{}
			}
		}
		if !sleep(ctx, time.Second) {
			return
		}
	}
}

// read hands out items until ctx ends or an error comes, and returns the cursor that it reached.
func (f *feed) read(ctx context.Context, watch iter.Seq2[*posthouse.Event, error], cursor string, after time.Time) (string, error) {
	for e, err := range watch {
		switch {
		case e == nil:
			return cursor, err
		case err != nil:
			f.log.Error("an entry cannot be read, and an endpoint is not told of it", "endpoint", f.name, "thread", e.Thread, "seq", e.Seq, "error", err)
		case !e.At.Before(after):
			messages, err := f.source.messages(ctx, e)
			if err != nil {
				return cursor, err
			}
			if len(messages) == 0 {
				break
			}
			f.forget()
			select {
			case f.items <- &item{e.Thread, e.Seq, e.Cursor, e.At, messages}:
				cursor = e.Cursor
			case <-ctx.Done():
				return cursor, ctx.Err()
			}
			continue
		}
		cursor = e.Cursor
		f.pass(e)
	}
	return cursor, ctx.Err()
}
