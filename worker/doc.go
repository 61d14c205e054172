// Package worker runs handlers for tasks that programs hand out with [step.Remote].
//
//	w, err := worker.New(engine, &worker.Options{Name: "gpu-1", Concurrency: 4})
//	...
//	worker.Handle(w, "resize", func(t worker.Task, in Image) (Thumbnail, error) { ... })
//	err = w.Run(ctx) // until ctx ends; then it drains
//
// The engine is a [task.Engine]: package dispatch in the same process, or a client of one on
// another host. A worker needs nothing else: no store, no key, no state of a program.
//
// # What a handler may count on
//
// A task is given to one worker at a time. Once its output is on record it is never executed
// again. Until then it may be: a worker may die after the effect and before it is recorded.
// So give [Task.Key] to whatever the handler pays or sends to: it is the same in all
// attempts. The next attempt loads the value that [Task.Checkpoint] kept.
//
// Each execution has exactly one verdict. The first one counts; a second is
// [ErrSecondVerdict]. A handler that returns an error without a verdict has failed, one that
// returns nil without a verdict has failed, too, and so has one that panics.
//
// # When the engine cannot be reached
//
// A worker that has had no answer to a heartbeat for two thirds of the lease stops its
// handlers: it cancels their contexts, with [ErrCutOff] as the cause. The engine gives their
// tasks to others when the whole lease is over, so two executions do not overlap as long as
// handlers heed their context. Late calls of the old execution are refused.
package worker
