// Package dispatch is the engine's side of tasks: it gives what programs hand out with
// [step.Remote] to workers.
//
//	d, err := dispatch.New(ledger, nil)
//	...
//	go d.Run(ctx)                    // finds open tasks, and claims of silent workers
//	w, err := worker.New(d, ...)     // a worker in this process; others come over NATS or HTTP
//
// A [Dispatcher] is a [task.Engine]. The log is the truth: a task is an open gate of kind
// [posthouse.GateTask], and its verdict is that gate's decision. A Dispatcher keeps a copy in
// memory, which it makes again when it starts. Several Dispatchers may work over one store: a
// claim is a conditional write to a slot there, and one of them wins.
//
// # Parts
//
// Four packages below this one keep what an engine knows, each under a lock of its own:
//
//	sessions   workers that talk to this engine: heartbeats, passes, calls that wait
//	board      open tasks that they may claim, in queues by name and group
//	claims     tasks that they have, and the slots that say so
//	hints      what engines over one store tell each other of open tasks
//
// The files of this package are the calls of a worker, and take one step after the other: see
// [Dispatcher.Claim]. A lock is taken while another is held in this order only: sessions, hints,
// claims, board.
//
// # Claims
//
// The slot of a task, {thread}/{step}, says who has it, and holds what the handler saved. Each
// claim raises the slot's fence, so that the store refuses what an older claim saves. A
// session is alive while its liveness slot changes, as a Ledger's process is. When it has
// been silent for the Ledger's LeaseTTL (3 s unless set), its attempts count as failed, and
// others make the next ones at once.
//
// # Hints
//
// Without a queue each Dispatcher knows of all open tasks, and Dispatchers over one store race
// for the first of a queue. With [Options.Hints] they share one. Each publishes the tasks
// that it hears of, once they may be claimed, and requests hints for as many as workers here wait
// for. A task that it has a hint of is claimed like any other, after a look at its gate. The
// shared queue may lose everything: at the start, when it comes back, and once a minute a
// Dispatcher publishes all that is open. While it is away, they work as without a queue.
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
package dispatch
