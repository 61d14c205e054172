// Package hint is what tells an engine of a task that is ready: a hint, which names it.
//
//	q, err := natshint.New(conn, nil)                       // a queue that engines share
//	d, err := dispatch.New(ledger, &dispatch.Options{Hints: q})
//
// The log is the truth, and a hint has ids only. Hints may be lost, doubled, late and out of
// order: an engine reads the gate before it gives the task to anybody, and tells the queue
// again of what it has forgotten. A [Queue] adds that each hint goes to one engine, which
// has a worker for the task, and that a limit holds for all engines together.
package hint
