// Package core is what a Ledger and its upkeep share: it reads and appends the logs of
// threads.
//
// A [Core] keeps what is known of each thread between commits (cache.go): a summary,
// and the head of each branch with the bytes that the next checkpoint is encoded
// against. All of it was read from the store or written to it. Each append is
// conditional on its being current.
//
// # Appending
//
// [Core.Append] builds one entry in a transaction, a [Tx], and appends it:
//
//	t, err := c.Lock("order-42")
//	defer c.Unlock(t)
//	err = c.Append(ctx, t, func(tx *core.Tx) error {
//		tx.Add(posthouse.Record{...}, body)
//		return nil
//	})
//
// The function may run several times: if another append wins, Append reads the thread
// again and starts over. It ends with seal, sign, put and apply (tx.go). Package
// internal/commit has the stages of a commit. Packages retain and transfer append
// records of their own.
//
// # Reading
//
// A [Reader] reads entries of one thread, checks each against its hash, and rebuilds
// states from them. A [Tree] is a thread's checkpoints: their parents, and the bodies
// that each needs. [Core.Executions] returns what steps and gates an unfinished
// execution has on record.
//
// # Leases
//
// [Core.Claim] takes a thread for a run. Heartbeats (heartbeat.go) keep a process's
// claims alive. A [Ticket] waits in line for a thread that another run has.
package core
