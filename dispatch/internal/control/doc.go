// Package control is what operators see and do of an engine's tasks: lists of tasks and workers,
// gauges, and changes of tasks that no worker has.
//
//	c := control.New(options)
//	for info, err := range c.Tasks(ctx, task.Query{Failed: true}) { ... }
//	info, err := c.Resume(ctx, gate, "alice")
//
// It reads the log and the slots of tasks, and asks the rooms of the engine what they have. It
// gives no task to a worker: the engine hears of the tasks that it opens and decides.
//
// It may import the rooms beside it, the ledger with its core and its commits, and task.
package control
