package graph

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/posthouse/posthouse"
)

// An EventKind says what an event reports. More kinds will come: skip those
// that you do not know.
type EventKind string

// The kinds of event.
const (
	EventInput EventKind = "input" // the input is merged and on record; the first node is next
	EventNode  EventKind = "node"  // a node completed and is on record
	EventPark  EventKind = "park"  // the last: the run waits for a gate, was interrupted, or drained
	EventEnd   EventKind = "end"   // the last: the run is done
)

// An Event is one element of a stream, sent once what it reports is on record.
type Event[S any] struct {
	Kind       EventKind
	Node       string           // that completed, or that waits
	Checkpoint posthouse.Header // the branch's head
	State      S                // in it; elements of append parts are shared with the nodes if they hold pointers: do not change those
	Result     *Result[S]       // of the run, with EventPark and EventEnd
}

// Stream is Run as a sequence: an event after the input and after each node,
// and a last one with the result, also if the run was interrupted. A failure is
// an error in place of the last event. A reader that leaves early stops the
// run behind the node that was just reported; the thread can be resumed.
// Iterating twice runs twice.
func (a *App[S]) Stream(ctx context.Context, thread string, input S, o ...RunOptions) iter.Seq2[Event[S], error] {
	return a.stream(ctx, thread, o, func(r *run[S]) (*Result[S], error) { return r.start(ctx, &input) })
}

// ResumeStream is Resume as a sequence; see [App.Stream]. Resuming a finished
// thread yields its end.
func (a *App[S]) ResumeStream(ctx context.Context, thread string, o ...RunOptions) iter.Seq2[Event[S], error] {
	return a.stream(ctx, thread, o, func(r *run[S]) (*Result[S], error) { return r.resume(ctx) })
}

func (a *App[S]) stream(ctx context.Context, thread string, o []RunOptions, do func(*run[S]) (*Result[S], error)) iter.Seq2[Event[S], error] {
	return func(yield func(Event[S], error) bool) {
		left := false
		emit := func(e Event[S]) bool {
			left = left || !yield(e, nil)
			return !left
		}
		_, err := a.do(ctx, thread, o, emit, do)
		if err != nil && !left && !errors.Is(err, errLeft) {
			yield(Event[S]{}, err)
		}
	}
}

// tell reports the head to the reader, if there is one.
func (r *run[S]) tell(kind EventKind) error {
	if r.emit == nil {
		return nil
	}
	state, err := r.live.copy()
	if err != nil {
		return err
	}
	if !r.emit(r.event(kind, state)) {
		return errLeft
	}
	return nil
}

func (r *run[S]) event(kind EventKind, state S) Event[S] {
	h := *r.sess.Head()
	return Event[S]{Kind: kind, Node: h.Node, Checkpoint: h, State: state}
}

// finish makes the result of a run that parked or ended, and reports it.
func (r *run[S]) finish(kind EventKind, state S, waiting []posthouse.Gate) *Result[S] {
	h := r.sess.Head()
	res := &Result[S]{
		State: state, Thread: h.Thread, Branch: h.Branch, Run: r.sess.Run(), Checkpoint: h.ID,
		Status: h.Status, Next: slices.Clone(h.Next), Waiting: waiting,
	}
	if r.emit != nil {
		e := r.event(kind, state)
		e.Result = res
		r.emit(e)
	}
	return res
}
