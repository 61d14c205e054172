package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/trace"
)

// ErrPanicked ends the span of code that panicked.
var ErrPanicked = errors.New("it panicked")

// TracedRun begins the span of a run, below one that is on record or else where its caller is. A
// tracer must be there. An input that the run puts on record has the trace context of the caller,
// or that of the run's own span if the caller is in no trace.
func TracedRun(ctx context.Context, s *session.Session, program, recorded string) (context.Context, func(error)) {
	tracer := s.Ledger().Core().Config.Tracer
	caller := tracer.Traceparent(ctx)
	if recorded == caller {
		recorded = "" // the caller is in a span of it
	}
	span := trace.Span{Kind: trace.KindRun, Name: program, Program: program, Parent: recorded, Thread: s.Thread(), Branch: s.Branch(), Run: s.Run()}
	inner, over := tracer.Start(ctx, &span)
	inner = context.WithValue(inner, keyTrace, cmp.Or(caller, tracer.Traceparent(inner)))
	return inner, func(err error) {
		end := trace.End{Err: err}
		if h := s.Head(); h != nil {
			end.Status = h.Status
		}
		over(&end)
	}
}

// TraceToRecord returns the trace context that an input has on record, which is made in a run.
func TraceToRecord(ctx context.Context) string {
	traceparent, _ := ctx.Value(keyTrace).(string)
	return traceparent
}

// Traced begins a span of what a task executes. A tracer must be there.
func (t *Task) Traced(ctx context.Context, s *trace.Span) (context.Context, func(error)) {
	s.Thread, s.Branch, s.Run = t.session.Thread(), t.session.Branch(), t.session.Run()
	if h := t.session.Head(); h != nil {
		s.Program = h.Graph
	}
	ctx, over := t.session.Ledger().Core().Config.Tracer.Start(ctx, s)
	return ctx, func(err error) { over(&trace.End{Err: err}) }
}

// traced returns the function of a call's n-th attempt in a span.
func (c *Call) traced(n int, fn Work) Work {
	return func(ctx context.Context) (v posthouse.Value, err error) {
		ctx, end := c.task.Traced(ctx, &trace.Span{Kind: trace.KindStep, Name: c.label(), Attempt: n, Effect: c.opt.Effect})
		err = ErrPanicked
		defer func() { end(err) }()
		return fn(ctx)
	}
}
