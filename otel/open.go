package otel

import (
	"context"
	"errors"
	"os"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/trace"
)

// An exporter is a Tracer with providers of its own.
type exporter struct {
	*Tracer
	close []func(context.Context) error
}

// Close implements [trace.Exporter].
func (e *exporter) Close(ctx context.Context) (err error) {
	for _, c := range e.close {
		err = errors.Join(err, c(ctx))
	}
	return err
}

// Open returns what exports traces and metrics over OTLP/HTTP, by the environment; it is a
// [trace.Opener]. Something is exported where OTEL_EXPORTER_OTLP_ENDPOINT (or that of traces or
// metrics alone) is set, or where OTEL_TRACES_EXPORTER or OTEL_METRICS_EXPORTER is otlp. With
// OTEL_SDK_DISABLED=true, and without any of them, it returns nil. [posthouse.ErrInvalid] names a
// variable that asks for something else.
func Open(ctx context.Context, name, version string) (trace.Exporter, error) {
	traces, err := wanted("TRACES")
	if err != nil {
		return nil, err
	}
	metrics, err := wanted("METRICS")
	if err != nil || !traces && !metrics {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", name), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "OTEL_RESOURCE_ATTRIBUTES", Message: "cannot be read", Err: err}
	}
	e := &exporter{}
	tp, mp := oteltrace.TracerProvider(nooptrace.NewTracerProvider()), metric.MeterProvider(noopmetric.NewMeterProvider())
	if traces {
		out, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, err
		}
		p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(out), sdktrace.WithResource(about))
		tp, e.close = p, append(e.close, p.Shutdown)
	}
	if metrics {
		out, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, errors.Join(err, e.Close(ctx))
		}
		p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(out)), sdkmetric.WithResource(about))
		mp, e.close = p, append(e.close, p.Shutdown)
	}
	e.Tracer, err = New(tp, mp)
	if err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	return e, nil
}

// wanted reports whether the environment wants a signal exported, TRACES or METRICS.
func wanted(signal string) (bool, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	endpoint := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	switch name := "OTEL_" + signal + "_EXPORTER"; os.Getenv(name) {
	case "":
	case "otlp":
		endpoint = true
	case "none":
		return false, nil
	default:
		return false, &posthouse.Error{Code: posthouse.CodeInvalid, Field: name, Message: "is neither otlp nor none", Hint: "send to a collector over OTLP, which passes on to others"}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL"} {
		if p := os.Getenv(name); endpoint && p != "" && p != "http/protobuf" {
			return false, &posthouse.Error{Code: posthouse.CodeInvalid, Field: name, Message: "is not http/protobuf", Hint: "collectors take it at port 4318"}
		}
	}
	return endpoint, nil
}
