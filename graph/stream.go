package graph

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// A StreamMode is something to read along while a graph runs. Choose any number
// by RunOptions.Modes.
type StreamMode string

// The modes.
const (
	StreamValues      StreamMode = "values"      // the state, after the input and after each step
	StreamUpdates     StreamMode = "updates"     // what each task changed in it
	StreamMessages    StreamMode = "messages"    // text as it comes: step.Token, step.Writer
	StreamCustom      StreamMode = "custom"      // values as they come: step.Emit
	StreamCheckpoints StreamMode = "checkpoints" // the header of each checkpoint; its state is in [App.State]
	StreamTasks       StreamMode = "tasks"       // what becomes of each task
	StreamDebug       StreamMode = "debug"       // tasks and checkpoints
)

var streamModes = []StreamMode{
	StreamValues, StreamUpdates, StreamMessages, StreamCustom, StreamCheckpoints, StreamTasks, StreamDebug,
}

// An EventKind says what an event reports. More kinds will come: skip those
// that you do not know.
type EventKind string

// The kinds of event. All but those of tasks, text and values are sent once
// what they report is on record, or kept for the next checkpoint where a step
// makes none.
const (
	EventInput EventKind = "input" // values: the input is merged; the first node is next
	EventNode  EventKind = "node"  // values: a step completed
	EventPark  EventKind = "park"  // the last of any stream: the run waits for a gate, was interrupted, or drained
	EventEnd   EventKind = "end"   // the last of any stream: the run is done, or was cancelled

	EventUpdate     EventKind = "update"     // updates: a task completed with its step
	EventMessage    EventKind = "message"    // messages: a piece of text
	EventCustom     EventKind = "custom"     // custom: a value
	EventCheckpoint EventKind = "checkpoint" // checkpoints: one was made

	EventTaskStart  EventKind = "task.start"  // an attempt of a task begins, or its error handler does
	EventTaskFinish EventKind = "task.finish" // the task has returned; its step is not committed yet
	EventTaskWait   EventKind = "task.wait"   // it waits for a gate, or for an attempt that is long to come
	EventTaskRetry  EventKind = "task.retry"  // an attempt failed with Err; the next begins at Due
	EventTaskError  EventKind = "task.error"  // it failed with Err; its error handler, if it has one, starts next
	EventTaskStop   EventKind = "task.stop"   // it was stopped before it came to anything, or halts at an interrupt inside its subgraph
)

// An Event is one element of a stream. Fields that do not belong to its kind
// are zero.
type Event[S any] struct {
	Kind EventKind
	Mode StreamMode // that asked for it, the first of several; "" of the last event, which every stream has
	Path string     // of the subgraph it happened in; "" at the top
	Node string     // that completed, emits or waits; those of a step of several are joined by "+"

	Checkpoint posthouse.Header // the branch's head, except of tasks, text and values
	State      S                // in it, with values and the last event; elements of append parts are shared with the nodes if they hold pointers: do not change those
	Inner      any              // in place of State in a subgraph, which has a state of its own type; see RunOptions.Subgraphs
	Result     *Result[S]       // of the run, with EventPark and EventEnd

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

// Stream is Run as a sequence: by default an event after the input and after
// each step with the state, else what RunOptions.Modes chooses; and a last one
// with the result, also if the run was interrupted. A failure is an error in
// place of the last event.
//
// The run goes on in goroutines of its own, but waits with each event until the
// reader asks for the next. Only text and values of nodes go through a buffer
// of 64; a node that emits more waits. Events of one task come in order. A
// reader that leaves stops the run before its next node; nodes that run then
// have their contexts ended and are waited for. What completed is on record,
// and the thread can be resumed. Iterating twice runs twice.
func (a *App[S]) Stream(ctx context.Context, thread string, input S, o ...RunOptions) iter.Seq2[Event[S], error] {
	return a.stream(ctx, thread, &input, o)
}

// ResumeStream is Resume as a sequence; see [App.Stream]. Resuming a finished
// thread yields its end. Steps that are on record are not run again and so emit
// nothing.
func (a *App[S]) ResumeStream(ctx context.Context, thread string, o ...RunOptions) iter.Seq2[Event[S], error] {
	return a.stream(ctx, thread, nil, o)
}

func (a *App[S]) stream(ctx context.Context, thread string, input *S, o []RunOptions) iter.Seq2[Event[S], error] {
	return func(yield func(Event[S], error) bool) {
		opt, err := one(o)
		if err != nil {
			yield(Event[S]{}, err)
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		h := newHub(opt.Modes, func() { cancel(errLeft) })
		go func() {
			defer close(h.ended)
			_, err = a.do(ctx, thread, opt, h, input)
		}()
		defer func() { // also if the reader panics
			cancel(errLeft)
			<-h.ended
		}()
		left := false
		h.read(func(n notice) bool {
			left = !yield(typed[S](&n), nil)
			return !left
		})
		if !left && err != nil { // in this order: err is the goroutine's while it runs
			yield(Event[S]{}, err)
		}
	}
}

// typed returns the event of a notice for a reader of states of type S.
func typed[S any](n *notice) Event[S] {
	e := Event[S]{
		Kind: n.Kind, Mode: n.Mode, Path: n.Path, Node: n.Node, Checkpoint: n.Checkpoint,
		Task: n.Task, Attempt: n.Attempt, Updates: n.Updates, Text: n.Text, Value: n.Value, Step: n.Step, Seq: n.Seq,
		Err: n.Err, Due: n.Due, At: n.At, Took: n.Took,
	}
	if n.Path == "" {
		e.State, _ = n.State.(S)
	} else {
		e.Inner = n.State
	}
	e.Result, _ = n.result.(*Result[S])
	return e
}

// checkModes refuses a mode that there is not.
func checkModes(modes []StreamMode) error {
	for _, m := range modes {
		if !slices.Contains(streamModes, m) {
			return invalid("Modes", "has %q, which is not a stream mode", string(m))
		}
	}
	return nil
}

// errLeft ends a run whose reader has left. It does not leave the package.
var errLeft = errors.New("graph: the reader has left")
