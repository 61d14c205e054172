package coord

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// ForkOptions say where a coordination is forked. Event is required.
type ForkOptions struct {
	Event  posthouse.ID    // a journaled event that became a checkpoint
	Thread string          // of the new line of work; default a new one
	State  posthouse.State // the fork's whole state; default the source's
	By     string
}

// A Forked is a new line of work.
type Forked struct {
	Checkpoint *posthouse.Checkpoint // its first
	Event      Event                 // the ForkCreated that is the root of its events
}

// Fork begins a new thread of a coordination at an event of the journal. It records a
// ForkCreated there. The new thread inherits the results recorded up to that event and
// asks its open questions again; [Coordinator.Resume] goes on with it. Errors:
// [posthouse.ErrNotFound] if the journal does not have the event, or no checkpoint was
// made of it; [posthouse.ErrExists] if the thread exists.
func Fork(ctx context.Context, j Journal, l *ledger.Ledger, o ForkOptions) (*Forked, error) {
	from, err := findEvent(ctx, j, o.Event)
	if err != nil {
		return nil, err
	}
	source, err := eventCheckpoint(ctx, l, from)
	if err != nil {
		return nil, err
	}
	thread := o.Thread
	if thread == "" {
		thread = string(l.Core().NewID())
	}
	c, err := l.Fork(ctx, source, &ledger.ForkOptions{Thread: thread, Replace: o.State, By: o.By})
	if err != nil {
		return nil, err
	}
	e := Event{
		ID: l.Core().NewID(), Kind: ForkCreated, Coordination: from.Coordination, Thread: c.Thread, At: l.Now().UTC(), By: o.By,
		Fork: &ForkLink{Coordination: from.Coordination, Thread: from.thread(), Event: from.ID, Checkpoint: source},
	}
	return &Forked{Checkpoint: c, Event: e}, j.Record(ctx, e)
}

func findEvent(ctx context.Context, j Journal, id posthouse.ID) (*Event, error) {
	if err := id.Validate(); err != nil {
		return nil, err
	}
	for e, err := range j.Events(ctx, EventQuery{ID: id, Limit: 1}) {
		return &e, err
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: fmt.Sprintf("the journal has no event %q to fork at", id),
		Hint: "fork the checkpoint itself with Ledger.Fork if the journal no longer keeps its event",
	}
}

func eventCheckpoint(ctx context.Context, l *ledger.Ledger, e *Event) (posthouse.ID, error) {
	for h, err := range l.List(ctx, posthouse.Query{Thread: e.thread(), Label: labelEvent, LabelValue: string(e.ID), Limit: 1}) {
		if err != nil {
			return "", err
		}
		return h.ID, nil
	}
	return "", &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: fmt.Sprintf("event %s (%s) did not become a checkpoint", e.ID, e.Kind),
		Hint: "fork at one that the journal's filter selects",
	}
}
