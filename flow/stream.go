package flow

import (
	"context"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/runs"
)

// An Event is one element of a stream. Fields that do not belong to its kind
// are zero.
type Event[In, Out any] struct {
	Kind runs.EventKind
	Mode runs.StreamMode // that asked for it, the first of several; "" of the last event, which every stream has
	Node string          // the name of the step, of the outermost if it is inside another; the flow's of the function itself

	Checkpoint posthouse.Header // the branch's head, except of tasks and text
	Input      In               // with values; a copy
	Output     Out              // with values of the function itself, and the last event; a copy
	Result     *Result[Out]     // of the run, with EventPark and EventEnd

	// Task is the key of the execution, as in "1/order". It comes with updates, tasks and
	// text, and with values except those of the input.
	Task string

	// Attempt comes with tasks and text. Of a step it counts from 1; of the function it is
	// how often this run has executed it.
	Attempt int

	// Step is the call of the step, as in "price[2]" for the third; "" outside of steps. It
	// comes with values, updates, tasks and text.
	Step string

	Updates map[string]posthouse.Value // with EventUpdate: what is on record now, by the step's name or "output"
	Text    string                     // with EventMessage
	Value   any                        // with EventCustom: not a copy, do not change it
	Seq     uint64                     // with messages and custom values: counts those of this execution, from 1
	Err     error                      // with EventTaskRetry, EventTaskError and EventTaskStop
	Due     time.Time                  // with EventTaskRetry
	At      time.Time                  // with tasks and checkpoints: when
	Took    time.Duration              // with tasks that ended: the attempt; with checkpoints: the commit
}

// Stream is Run as a sequence of events. By default one comes after the input, after each
// step and at the end; RunOptions.Modes chooses others. The last one has the result, also
// if the run parked. A failure is an error in place of the last event.
//
// The run goes on in goroutines of its own, but waits with each event until the
// reader asks for the next. Only emitted text and values go through a buffer, of 64.
// A reader that leaves stops the run: the function's context ends, no step begins any
// more, and running steps are waited for. Completed steps are on record, and the thread can
// be resumed. Recorded steps are not run again and yield no events. The last event comes once
// the run has given the thread back: the loop's body may resume the thread, or run it again,
// while it handles that event. Iterating twice runs twice.
func (a *App[In, Out]) Stream(ctx context.Context, thread string, in In, o ...RunOptions) iter.Seq2[Event[In, Out], error] {
	return typedEvents[In, Out](a.front.Stream(ctx, thread, &in, o))
}

// ResumeStream is Resume as a sequence; see [App.Stream]. Resuming a finished
// thread yields its end.
func (a *App[In, Out]) ResumeStream(ctx context.Context, thread string, o ...RunOptions) iter.Seq2[Event[In, Out], error] {
	return typedEvents[In, Out](a.front.Stream(ctx, thread, nil, o))
}

type values[In, Out any] struct {
	in  In
	out Out
}

// typedEvents returns the events of notices.
func typedEvents[In, Out any](notices iter.Seq2[*stream.Notice, error]) iter.Seq2[Event[In, Out], error] {
	return func(yield func(Event[In, Out], error) bool) {
		notices(func(n *stream.Notice, err error) bool { return yield(typedEvent[In, Out](n), err) })
	}
}

// typedEvent returns the event of a notice, no event for nil.
func typedEvent[In, Out any](n *stream.Notice) (e Event[In, Out]) {
	if n == nil {
		return e
	}
	e = Event[In, Out]{
		Kind: n.Kind, Mode: n.Mode, Node: n.Node, Checkpoint: n.Checkpoint,
		Task: n.Task, Attempt: n.Attempt, Updates: n.Updates, Text: n.Text, Value: n.Value, Step: n.Step, Seq: n.Seq,
		Err: n.Err, Due: n.Due, At: n.At, Took: n.Took,
	}
	if v, ok := n.State.(values[In, Out]); ok {
		e.Input, e.Output = v.in, v.out
	}
	e.Result, _ = n.Result.(*Result[Out])
	if e.Result != nil {
		e.Output = e.Result.Output
	}
	return e
}
