package trace

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// A Tracer makes spans. It must be safe for concurrent use, and quick: it runs where the work does.
type Tracer interface {
	// Start begins a span and returns the context for the work in it, and a function to call once
	// the work has ended. The span is below s.Parent if that is set, with a link to the span that
	// ctx is in; else it is below the span of ctx. The Tracer does not keep s.
	Start(ctx context.Context, s *Span) (context.Context, func(*End))

	// Traceparent returns the trace context that ctx is in, as the W3C header traceparent has it.
	// "" is no trace.
	Traceparent(ctx context.Context) string
}

// A Kind says what a span is of.
type Kind string

// The kinds of spans.
const (
	KindRequest Kind = "request" // a request that the server answers; Name is its method
	KindRun     Kind = "run"     // a process moves a thread on, until it waits or ends
	KindNode    Kind = "node"    // a node of a graph is executed
	KindStep    Kind = "step"    // a step's function is executed: one attempt
	KindGate    Kind = "gate"    // a question was open; it begins and ends in the past
)

// A Span is a piece of work that begins.
type Span struct {
	Kind   Kind
	Name   string    // of the program, node, step or question; the method of a request
	Parent string    // traceparent of the span above, from a record or a request; "" is the context's
	Begin  time.Time // zero: now

	Thread  string // "" for a request
	Branch  string
	Program string
	Run     string           // the id of the run, if it has one
	Attempt int              // of a node or step, from 1
	Effect  posthouse.Effect // of a step
	Gate    *posthouse.Gate  // of KindGate, with its decision; the Tracer must not change it

	// Replay says that the code was executed before, up to a wait or a crash, and finds its
	// results on record.
	Replay bool
}

// An End says how work ended.
type End struct {
	At     time.Time        // zero: now
	Err    error            // [posthouse.ErrWaiting] is a wait, not a failure
	Status posthouse.Status // of a run's head
	Route  string           // of a request: the path's pattern; "" if no path matches
	Code   int              // of a request: the HTTP status
}
