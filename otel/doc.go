// Package otel exports traces and metrics of Posthouse with OpenTelemetry.
//
//	app.Main(app.Programs{Open: programs, OpenTraces: otel.Open})
//
// It is a module of its own, so that nobody links OpenTelemetry who does not use it. [Open] reads
// the environment that the OpenTelemetry specification names: OTEL_EXPORTER_OTLP_ENDPOINT,
// OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER and others. A program with providers of its own calls
// [New] instead:
//
//	t, err := otel.New(tracerProvider, meterProvider)
//	l, err := ledger.Open(store, &ledger.Options{Tracer: t, Appended: t.Appended})
//
// # Spans
//
//	invoke_agent PROGRAM    a process moves a thread on, until it waits or ends
//	node NODE               a node of a graph is executed
//	step STEP               a step's function is executed: one attempt
//	execute_tool STEP       such a step that acts on the world
//	posthouse.gate QUESTION a question was open, from its opening to its decision
//	METHOD /path            a request that the server answers
//
// The context of a node and a step carries its span, so that what is called with it, such as a
// client of a model, has its spans below. The trace context is on record with the input: whoever
// goes on after a restart goes on in the same trace. A step on record is not executed again, and so
// has one span.
//
// Names and attributes are those of the conventions for generative AI of OpenTelemetry 1.40, which
// are in development, and posthouse.* of our own.
//
// # Privacy
//
// No state, input, question, decision's reason, person or error text is exported. Names of
// programs, nodes, steps, questions and threads are.
package otel
