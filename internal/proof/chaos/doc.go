// Package chaos runs workflows on several processes and disturbs everything: engines and
// workers are killed and frozen, the servers of Postgres and NATS are killed and started
// again, and the queue of hints between engines is purged and deleted, at random.
//
//	line, err := chaos.Run(ctx, &chaos.Config{Runs: 10_000, Seed: 7})
//
// Each run has ten steps. Five are tasks for workers, which reach engines over NATS; five
// are executed by an engine. Engines share one store on Postgres. Each execution of a step
// and each step that is on record is a line in a witness file outside of the store. In the
// end all runs must be complete, and no step may have been executed after it was on record.
// Then each run is made once more in this process over a store in memory, where nothing happens
// to it, and both must have the same on record. A control arm does not record the steps of
// engines, and must be caught.
//
// A [Line] says what a trial found; the lines are checked in as docs/record/chaos.jsonl.
// The processes are this binary once more: its main function calls [Child].
package chaos
