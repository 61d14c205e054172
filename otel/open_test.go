package otel_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/otel"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/trace"
)

// A program with providers of its own gives the Tracer to its Ledger.
func ExampleNew() {
	spans := tracetest.NewInMemoryExporter()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	t, _ := otel.New(tp, noopmetric.NewMeterProvider())
	l, _ := ledger.Open(memstore.New(), &ledger.Options{Tracer: t, Appended: t.Appended})

	g := graph.New[Refund]("refunds")
	g.Node("pay", func(context.Context, *Refund) error { return nil })
	g.Edge(graph.Start, "pay")
	g.Edge("pay", graph.End)
	a, _ := g.Compile(l, nil)
	_, _ = a.Run(context.Background(), "order-1", Refund{Amount: 80})
	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name)
	}
	// Output:
	// node pay
	// invoke_agent refunds
}

// TestOpenByTheEnvironment exports what it asks for, and refuses what cannot be done.
func TestOpenByTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		set   map[string]string
		opens bool
		field string
	}{
		{nil, false, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, true, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, false, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, "OTEL_TRACES_EXPORTER"},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "OTEL_EXPORTER_OTLP_PROTOCOL"},
	} {
		t.Run(fmt.Sprint(c.set), func(t *testing.T) {
			for name, value := range c.set {
				t.Setenv(name, value)
			}
			e, err := otel.Open(t.Context(), "refunds", "v1")
			var wrong *posthouse.Error
			errors.As(err, &wrong)
			if (e != nil) != c.opens || (err != nil) != (c.field != "") || wrong != nil && wrong.Field != c.field {
				t.Fatalf("it opens %v, %v", e, err)
			}
			if e != nil {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = e.Close(ctx) // nobody takes what is left
			}
		})
	}
}

// TestCollectorThatHangs holds nobody: not what is traced, and the end for as long as it is given.
func TestCollectorThatHangs(t *testing.T) {
	over := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer hanging.Close()
	defer close(over)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", hanging.URL)
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
	e, err := otel.Open(t.Context(), "refunds", "v1")
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 { // of which most are dropped
		_, end := e.Start(t.Context(), &trace.Span{Kind: trace.KindStep, Name: "s"})
		end(&trace.End{})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := e.Close(ctx); err == nil {
		t.Error("what a collector did not take was sent")
	}
}
