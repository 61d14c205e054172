// Package core is what a Ledger and its upkeep share: it reads and appends the logs
// of threads, as one process does.
//
// A [Core] keeps what is known of each thread between commits (cache.go): a summary,
// and the head of each branch with the bytes that the next checkpoint is encoded
// against. Whatever it keeps was read from the store or written to it, and each
// append is conditional on its being current.
//
// # Appending
//
// [Core.Append] builds one entry in a transaction, a [Tx], and puts it on record:
//
//	t, err := c.Lock("order-42")
//	defer c.Unlock(t)
//	err = c.Append(ctx, t, func(tx *core.Tx) error {
//		tx.Add(posthouse.Record{...}, body)
//		return nil
//	})
//
// The function may run several times: when another append wins, Append reads the
// thread again and starts over. It ends with seal, sign, put and apply (tx.go).
// Package internal/commit has the stages of a commit; retain and transfer append
// records of their own.
//
// # Reading
//
// A [Reader] reads entries of one thread, each checked against its hash, and rebuilds
// states from them. A [Tree] is a thread's checkpoints: who derives from whom, and
// which bodies each needs. [Core.Executions] returns what steps and gates an
// unfinished execution has on record.
//
// # Leases
//
// [Core.Claim] takes a thread for a run; heartbeats (heartbeat.go) keep a process's
// claims alive, and a [Ticket] waits in line for a thread that another run has.
//
// This package imports the root, internal/canon and internal/delta, and nothing else
// of ours: whoever commits or removes is above it.
package core
