package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/trace"
)

// metrics are the instruments. Durations are in seconds.
type metrics struct {
	requests metric.Float64Histogram
	runs     metric.Float64Histogram
	steps    metric.Float64Histogram
	gates    metric.Float64Histogram
	opened   metric.Int64Counter
	appends  metric.Float64Histogram
}

func newMetrics(m metric.Meter) (_ *metrics, err error) {
	var failed []error
	seconds := func(name, about string, buckets ...float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about), metric.WithExplicitBucketBoundaries(buckets...))
		failed = append(failed, err)
		return h
	}
	fast := []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10}
	slow := []float64{0.1, 1, 10, 60, 600, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600}
	ms := &metrics{
		requests: seconds("http.server.request.duration", "How long requests took.", fast...),
		runs:     seconds("posthouse.run.duration", "How long a process moved a thread on.", slow...),
		steps:    seconds("posthouse.step.duration", "How long attempts of steps took.", slow...),
		gates:    seconds("posthouse.gate.wait", "How long questions were open until they were decided.", slow...),
		appends:  seconds("posthouse.store.append.duration", "How long the store took to commit.", fast...),
	}
	ms.opened, err = m.Int64Counter("posthouse.gates.opened", metric.WithDescription("Questions that were asked of people."))
	return ms, errors.Join(append(failed, err)...)
}

// ended counts work that has ended. Threads are no attributes: there are too many.
func (m *metrics) ended(ctx context.Context, s *trace.Span, e *trace.End, took time.Duration) {
	as := []attribute.KeyValue{attribute.String("posthouse.program", s.Program)}
	if e.Err != nil && !errors.Is(e.Err, posthouse.ErrWaiting) {
		as = append(as, attribute.String("error.type", errorType(e.Err)))
	}
	var h metric.Float64Histogram
	switch s.Kind {
	case trace.KindRequest:
		h, as[0] = m.requests, attribute.String("http.request.method", s.Name)
		as = append(as, attribute.String("http.route", e.Route), attribute.Int("http.response.status_code", e.Code))
	case trace.KindRun:
		h = m.runs
		as = append(as, attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("posthouse.status", string(e.Status)))
	case trace.KindStep:
		h = m.steps
		as = append(as, attribute.String("posthouse.step.effect", string(s.Effect)))
	case trace.KindGate:
		h = m.gates
		as = append(as, attribute.String("posthouse.gate.name", s.Name))
		if s.Gate != nil && s.Gate.Decision != nil {
			as = append(as, attribute.String("posthouse.gate.verdict", string(s.Gate.Decision.Verdict)))
		}
	default:
		return
	}
	h.Record(ctx, took.Seconds(), metric.WithAttributes(as...))
}

// appended counts an append of a commit.
func (m *metrics) appended(records []posthouse.Record, took time.Duration, err error) {
	ctx := context.Background()
	var as []attribute.KeyValue
	if err != nil {
		as = append(as, attribute.String("error.type", errorType(err)))
	}
	m.appends.Record(ctx, took.Seconds(), metric.WithAttributes(as...))
	if err != nil {
		return
	}
	for i := range records {
		if g := records[i].Gate; g != nil && posthouse.AsksPeople(g.Kind) {
			m.opened.Add(ctx, 1, metric.WithAttributes(attribute.String("posthouse.gate.name", g.Name)))
		}
	}
}
