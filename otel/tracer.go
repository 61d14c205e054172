package otel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/trace"
)

// scope is the name of our instrumentation.
const scope = "github.com/posthouse/posthouse/otel"

// A Tracer makes spans and metrics of OpenTelemetry. It is a [trace.Tracer], to be given to a
// Ledger and a server.
type Tracer struct {
	tracer  oteltrace.Tracer
	metrics *metrics
}

// New returns a Tracer over providers of the caller's, which the caller shuts down.
func New(tp oteltrace.TracerProvider, mp metric.MeterProvider) (*Tracer, error) {
	m, err := newMetrics(mp.Meter(scope))
	if err != nil {
		return nil, err
	}
	return &Tracer{tracer: tp.Tracer(scope), metrics: m}, nil
}

// Start implements [trace.Tracer].
func (t *Tracer) Start(ctx context.Context, s *trace.Span) (context.Context, func(*trace.End)) {
	kind := oteltrace.SpanKindInternal
	if s.Kind == trace.KindRequest {
		kind = oteltrace.SpanKindServer
	}
	o := []oteltrace.SpanStartOption{oteltrace.WithSpanKind(kind), oteltrace.WithAttributes(attributesOf(s)...)}
	began := time.Now()
	if !s.Begin.IsZero() {
		began = s.Begin
		o = append(o, oteltrace.WithTimestamp(began))
	}
	if parent := parse(s.Parent); parent.IsValid() {
		if caller := oteltrace.SpanContextFromContext(ctx); caller.IsValid() {
			o = append(o, oteltrace.WithLinks(oteltrace.Link{SpanContext: caller}))
		}
		ctx = oteltrace.ContextWithRemoteSpanContext(ctx, parent)
	}
	ctx, span := t.tracer.Start(ctx, nameOf(s), o...)
	begun := *s
	return ctx, func(e *trace.End) {
		ended := time.Now()
		if !e.At.IsZero() {
			ended = e.At
		}
		finish(span, &begun, e)
		span.End(oteltrace.WithTimestamp(ended))
		t.metrics.ended(ctx, &begun, e, ended.Sub(began))
	}
}

// Traceparent implements [trace.Tracer].
func (t *Tracer) Traceparent(ctx context.Context) string {
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	return c["traceparent"]
}

// Appended counts what is committed, as ledger.Options.Appended.
func (t *Tracer) Appended(records []posthouse.Record, took time.Duration, err error) {
	t.metrics.appended(records, took, err)
}

// parse returns the context that a traceparent names. It is not valid for one that cannot be read.
func parse(traceparent string) oteltrace.SpanContext {
	if traceparent == "" {
		return oteltrace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	return oteltrace.SpanContextFromContext(ctx)
}

// nameOf returns the name of a span: few of them, so that spans of a kind are found together.
func nameOf(s *trace.Span) string {
	switch s.Kind {
	case trace.KindRequest:
		return s.Name
	case trace.KindRun:
		return "invoke_agent " + s.Name
	case trace.KindGate:
		return "posthouse.gate " + s.Name
	case trace.KindStep:
		if isTool(s) {
			return "execute_tool " + s.Name
		}
	}
	return string(s.Kind) + " " + s.Name
}

// isTool reports whether a step acts on the world, as the tool of an agent does.
func isTool(s *trace.Span) bool { return s.Effect == posthouse.EffectExternal }

// finish puts on a span how its work ended. A wait is no failure.
func finish(span oteltrace.Span, s *trace.Span, e *trace.End) {
	if e.Status != "" {
		span.SetAttributes(attribute.String("posthouse.status", string(e.Status)))
	}
	if s.Kind == trace.KindRequest {
		finishRequest(span, s, e)
		return
	}
	switch {
	case e.Err == nil:
	case errors.Is(e.Err, posthouse.ErrWaiting):
		span.SetAttributes(attribute.Bool("posthouse.waiting", true))
	default:
		kind := errorType(e.Err)
		span.SetAttributes(attribute.String("error.type", kind))
		span.SetStatus(codes.Error, kind)
	}
}

func finishRequest(span oteltrace.Span, s *trace.Span, e *trace.End) {
	if e.Route != "" {
		span.SetName(s.Name + " " + e.Route)
		span.SetAttributes(attribute.String("http.route", e.Route))
	}
	span.SetAttributes(attribute.Int("http.response.status_code", e.Code))
	if e.Err != nil {
		span.SetAttributes(attribute.String("error.type", errorType(e.Err)))
	}
	if e.Code >= 500 {
		span.SetStatus(codes.Error, errorType(e.Err))
	}
}

// errorType names an error without its text, which may hold what nobody is to see: the code of one
// of ours, or the Go type.
func errorType(err error) string {
	if e, ok := errors.AsType[*posthouse.Error](err); ok && e.Code != "" {
		return string(e.Code)
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}
