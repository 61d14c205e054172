package coord

import (
	"bufio"
	"context"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// A Journal takes the events of coordinations in the order they happen. All
// methods may be called at once from many goroutines. An error of Record is an
// error of the run that emitted the event.
type Journal interface {
	Record(ctx context.Context, e Event) error

	// Events yields recorded events that match, oldest first. An iterator that
	// fails yields one error as its last element.
	Events(ctx context.Context, q EventQuery) iter.Seq2[Event, error]
}

// An EventQuery selects events. The zero EventQuery selects all; set fields are
// joined by "and". Names are compared exactly.
type EventQuery struct {
	ID           posthouse.ID
	Coordination string
	Thread       string
	Agent        string
	Kind         Kind
	Since, Until time.Time // of At, both inclusive; zero: open
	Limit        int       // 0: all; else the oldest that match
}

// Match reports whether the event passes the filters of q, the limit aside.
func (q *EventQuery) Match(e *Event) bool {
	eq := func(want, have string) bool { return want == "" || want == have }
	return (q.ID == "" || q.ID == e.ID) && eq(q.Coordination, e.Coordination) && eq(q.Thread, e.thread()) &&
		eq(q.Agent, e.Agent) && (q.Kind == "" || q.Kind == e.Kind) &&
		(q.Since.IsZero() || !e.At.Before(q.Since)) && (q.Until.IsZero() || !e.At.After(q.Until))
}

// A Discard journal keeps nothing. It is a coordinator's default.
type Discard struct{}

// Record does nothing.
func (Discard) Record(context.Context, Event) error { return nil }

// Events yields nothing.
func (Discard) Events(context.Context, EventQuery) iter.Seq2[Event, error] {
	return func(func(Event, error) bool) {}
}

// DefaultMaxEvents is how many events a [MemoryJournal] keeps by default.
const DefaultMaxEvents = 10_000

// A MemoryJournal keeps the newest events in memory. The zero MemoryJournal is
// ready for use.
type MemoryJournal struct {
	Max int // events kept, the oldest go first; 0: DefaultMaxEvents

	mu     sync.RWMutex
	events []Event // a ring once it is full
	next   int     // where the oldest is, and the next goes
}

// Record keeps a copy of the event.
func (j *MemoryJournal) Record(_ context.Context, e Event) error {
	limit := j.Max
	if limit <= 0 {
		limit = DefaultMaxEvents
	}
	e = e.clone()
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.events) < limit {
		j.events = append(j.events, e)
		return nil
	}
	j.events[j.next] = e
	j.next = (j.next + 1) % limit
	return nil
}

// Events yields copies of the kept events that match, as of the call.
func (j *MemoryJournal) Events(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		j.mu.RLock()
		var found []Event
		for i := range j.events {
			if q.Limit > 0 && len(found) == q.Limit {
				break
			}
			if e := &j.events[(j.next+i)%len(j.events)]; q.Match(e) {
				found = append(found, e.clone())
			}
		}
		j.mu.RUnlock()
		for _, e := range found {
			if err := ctx.Err(); err != nil {
				yield(Event{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// WriteLog writes one line for each event that matches, see [Event.String].
func WriteLog(ctx context.Context, w io.Writer, j Journal, q EventQuery) error {
	b := bufio.NewWriter(w)
	for e, err := range j.Events(ctx, q) {
		if err != nil {
			return err
		}
		if _, err := b.WriteString(e.String() + "\n"); err != nil {
			return err
		}
	}
	return b.Flush()
}
