// Package natstask carries tasks over NATS: requests of workers, and replies of engines.
//
//	stop, err := natstask.Serve(conn, dispatcher, nil) // at each engine
//	engine, err := natstask.NewEngine(conn, nil)       // at a worker: worker.New(engine, ...)
//
// NATS carries messages and keeps no messages: lost ones are asked for again. Engines share
// the subjects {prefix}.task.*.any.*, so that a worker reaches one of those that are there;
// from then on it talks to that one, at {prefix}.task.{worker}.{engine}.*, and goes to
// another when that does not answer.
//
// The subject of a call carries the worker's name, which says who it is. Worker w needs leave to
// publish to {prefix}.task.w.*.* and to subscribe to {prefix}.answer.w.>, an engine to subscribe
// to {prefix}.task.*.*.* and to publish to {prefix}.answer.>, and neither has access to streams
// or buckets. An engine answers below {prefix}.answer and the caller's name only, and passes over
// a request with another reply subject. A worker that may subscribe to {prefix}.task.> could
// answer for an engine.
//
// Both are connected to one cluster. Messages from one cluster to another are refused with
// [posthouse.ErrUnsupported]. Messages are bounded by the servers' max_payload: with the
// default of 1 MiB, a slot has at most about 750 KiB over NATS. A request or an answer beyond
// that fails with [posthouse.ErrTooLarge]. A task that does not fit is not given to a worker:
// its attempts fail for that reason.
package natstask
