// Package trace lets a tracing system follow the programs of a Ledger.
//
//	l, err := ledger.Open(store, &ledger.Options{Tracer: tracer})
//
// A [Tracer] is called where work begins, and the function it returns where that work ends.
// Module github.com/posthouse/posthouse/otel has one for OpenTelemetry, so that only
// those who use OpenTelemetry link it.
//
// # One trace, over restarts
//
// A run that begins with an input keeps its trace context on record, beside the state. Whoever
// goes on, in another process a week later, goes on in that trace: it is [Span].Parent. A fork
// and a copy of a thread keep it, too; a new input begins where its caller is.
//
// # Nothing twice
//
// Spans are of what is executed. A step with its result on record is not executed again, and has
// no second span. The code around it, a node or a flow, is executed from its top after a wait:
// its spans then say [Span].Replay.
package trace
