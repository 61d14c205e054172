package graph

import (
	"context"
	"iter"
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/runs"
)

// An Event is one element of a stream. Fields that do not belong to its kind
// are zero.
type Event[S any] struct {
	Kind runs.EventKind
	Mode runs.StreamMode // that asked for it, the first of several; "" of the last event, which every stream has
	Path string          // of the subgraph it happened in; "" at the top

	// Node completed, emits or waits. Several nodes of one step are joined by "+". Names
	// are escaped as in checkpoints, see posthouse.EscapeName.
	Node string

	Checkpoint posthouse.Header // the branch's head, except of tasks, text and values

	// State is the checkpoint's, with values and the last event. Do not change elements
	// of append parts that hold pointers: they are shared with the nodes.
	State S

	Inner  any        // in place of State in a subgraph, which has a state of its own type; see RunOptions.Subgraphs
	Result *Result[S] // of the run, with EventPark and EventEnd

	Task    string                     // the key of the task, as in "7/approve"; with updates, tasks, text and values
	Attempt int                        // of it, from 1; an error handler counts as one more
	Updates map[string]posthouse.Value // with EventUpdate: the parts it changed; of append parts, a list of what it added
	Text    string                     // with EventMessage
	Value   any                        // with EventCustom: not a copy, do not change it
	Step    string                     // with EventMessage and EventCustom: the step that emits, "" outside of steps
	Seq     uint64                     // with EventMessage and EventCustom: counts what the attempt emitted, from 1
	Err     error                      // with EventTaskRetry, EventTaskError and EventTaskStop
	Due     time.Time                  // with EventTaskRetry
	At      time.Time                  // with tasks and checkpoints: when
	Took    time.Duration              // with tasks that ended: the attempt; with checkpoints: the commit
}

// Stream is Run as a sequence of events. By default there is one with the state after
// the input and after each step; RunOptions.Modes chooses others. The last event has the
// result, also if the run was interrupted. A failure is an error in place of the last
// event.
//
// The run goes on in goroutines of its own, but waits with each event until the reader
// asks for the next. Only text and values of nodes go through a buffer of 64; a node
// that emits more waits. Events of one task come in order. If the reader stops, the run
// stops before its next node: it ends the contexts of running nodes and waits for them.
// Completed nodes are on record, and the thread can be resumed. The last event comes once
// the run has given the thread back: the loop's body may update and resume the thread, or
// run it again, while it handles that event. Iterating twice runs twice.
func (a *App[S]) Stream(ctx context.Context, thread string, in S, o ...RunOptions) iter.Seq2[Event[S], error] {
	return typedEvents[S](a.core.front.Stream(ctx, thread, &input{&in}, o))
}

// ResumeStream is Resume as a sequence; see [App.Stream]. Resuming a finished thread
// yields its end. Steps on record do not run again, and so emit nothing.
func (a *App[S]) ResumeStream(ctx context.Context, thread string, o ...RunOptions) iter.Seq2[Event[S], error] {
	return typedEvents[S](a.core.front.Stream(ctx, thread, nil, o))
}

// typedEvents returns the events of notices.
func typedEvents[S any](notices iter.Seq2[*stream.Notice, error]) iter.Seq2[Event[S], error] {
	return func(yield func(Event[S], error) bool) {
		notices(func(n *stream.Notice, err error) bool { return yield(typedEvent[S](n), err) })
	}
}

// typedEvent returns the event of a notice for a reader of states of type S, no event for nil.
func typedEvent[S any](n *stream.Notice) (e Event[S]) {
	if n == nil {
		return e
	}
	e = Event[S]{
		Kind: n.Kind, Mode: n.Mode, Path: n.Path, Node: n.Node, Checkpoint: n.Checkpoint,
		Task: n.Task, Attempt: n.Attempt, Updates: n.Updates, Text: n.Text, Value: n.Value, Step: n.Step, Seq: n.Seq,
		Err: n.Err, Due: n.Due, At: n.At, Took: n.Took,
	}
	if n.Path == "" {
		e.State = stateOf[S](n.State)
	} else if n.State != nil {
		e.Inner = reflect.ValueOf(n.State).Elem().Interface()
	}
	if res, ok := n.Result.(*result); ok {
		e.Result = typedResult[S](res)
	}
	return e
}
