// Package dispatch is the engine's side of tasks: it gives what programs hand out with
// [step.Remote] to workers.
//
//	d, err := dispatch.New(ledger, nil)
//	...
//	go d.Run(ctx)                    // finds open tasks, and claims whose workers are silent
//	w, err := worker.New(d, ...)     // a worker in this process; others come over NATS or HTTP
//
// A [Dispatcher] is a [task.Engine]. The log is the truth: a task is an open gate of kind
// [posthouse.GateTask], and its verdict is that gate's decision. What a Dispatcher keeps in
// memory is a copy, which it makes anew when it starts. Several Dispatchers may work over
// one store: a claim is a conditional write to a slot there, and one of them wins.
//
// # Claims
//
// The slot of a task, {thread}/{step}, holds who has it and what the handler saved. Each
// claim raises the slot's fence, so that the store refuses what an older claim saves. A
// session is alive while its liveness slot changes, as a Ledger's process is. When it has
// been silent for the Ledger's LeaseTTL (3 s unless set), its attempts count as failed, and
// others make the next ones at once.
//
// # Hints
//
// Without a queue each Dispatcher knows of all open tasks, in lines by name and group, and
// Dispatchers over one store race for the first of a line. With [Options.Hints] they share a
// queue. Each tells it of the tasks whose opening it hears of, once they may be claimed, and
// asks it for as many as workers here wait for. What the queue gives is claimed like any other
// task, after a look at its gate. The queue may lose everything: at the start, when it comes
// back, and once a minute a Dispatcher tells it of all that is open. While it is away, they
// work as without it.
//
// # Control
//
// A Dispatcher is a task.Control as well: it lists tasks and workers, and clears slots and
// has tasks go on for operators.
//
// # Limits
//
// An open task takes about 300 bytes in memory and no goroutine. Slots in encrypted threads are
// encrypted with the thread's data key: without it their tasks wait, and others are claimed.
//
// It imports the root package, the ledger, its core and its commits, task and task/hint.
package dispatch
