// Package control is what operators see and do of an engine's tasks: lists of tasks and workers,
// gauges, and changes of tasks that no worker has.
//
//	c := control.New(options)
//	for info, err := range c.Tasks(ctx, task.Query{Failed: true}) { ... }
//	info, err := c.Resume(ctx, gate, "alice")
//
// It reads the log and the slots of tasks, and asks the parts of the engine for their tasks and
// sessions. It gives no task to a worker: the engine hears of the tasks that it opens and decides.
package control
