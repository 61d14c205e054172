// Package hints is an engine's end of the queue that engines over one store share.
//
//	q := hints.New(shared, board, options)
//	q.Start(ctx, &group)             // uses the queue until ctx ends
//	q.Offer(task, false)             // an open task that this engine has found
//	done := q.Request(keys)          // a worker here waits for tasks of these queues
//
// While the shared queue can be used, a [Queue] publishes the tasks that this engine finds, and
// puts on the engine's board only tasks that the shared queue gives it hints of. It requests as
// many hints as calls wait here, says of those that it has that they are in progress, and gives
// back those that no worker claims. While the shared queue is away, and if there is no such
// queue, all open tasks go to the board.
//
// A hint stays with this engine from its delivery until its task is resolved: the task is on the
// board, or a session here has claimed it. So the shared queue counts it against the limit of
// its name all that time.
//
// A [Queue] is safe for concurrent use. While it holds its lock it calls the board and
// the functions of [Options], and they do not call back.
package hints
