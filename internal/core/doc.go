// Package core is what a Ledger and its upkeep share: it reads and appends the logs of
// threads.
//
// A [Core] keeps what is known of each thread between commits (cache.go): a summary,
// and the head of each branch with the bytes that the next checkpoint is encoded
// against. All of it was read from the store or written to it. Each append is
// conditional on its being current. What a long execution has on record is kept, too
// (executions.go): it says itself whether the log still begins with what it was read from.
//
// # Appending
//
// [Core.LockAndAppend] builds one entry in a transaction, a [Tx], and appends it:
//
//	err := c.LockAndAppend(ctx, "order-42", func(tx *core.Tx) error {
//		tx.Add(posthouse.Record{...}, body)
//		return nil
//	})
//
// The function may run several times: if another append wins, LockAndAppend reads the
// thread again and starts over. It ends with seal, sign, put and apply (tx.go).
// [Core.Append] is for callers that have locked the thread. Package internal/commit has
// the stages of a commit. Packages retain and transfer append records of their own.
//
// # Reading
//
// [Core.Get] and [Core.GetHeader] read checkpoints, and spare the store what this process
// knows. All else is read by [threadlog.Logs], the field Logs; the field Vault opens
// what is sealed ([encryption.Vault]).
//
// # Leases
//
// [Core.Claim] takes a thread for a run. Heartbeats (heartbeat.go) keep a process's
// claims alive. A [Ticket] waits in line for a thread that another run has.
package core
