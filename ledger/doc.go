// Package ledger is the front of Posthouse: a [Ledger] turns what programs and people
// do into entries of a thread's log.
//
//	store, err := sqlitestore.Open(ctx, "posthouse.db", nil)
//	led, err := ledger.Open(store, nil)
//
//	state, err := posthouse.Opaque(nil, order) // any value that encodes as JSON
//	root, err := led.Save(ctx, posthouse.Root("order-42", state), nil)
//	next, err := led.Save(ctx, root.Derive(state2), nil)
//	last, err := led.Latest(ctx, ledger.LatestQuery{Thread: "order-42"})
//	side, err := led.Fork(ctx, root.ID, nil)
//
// # Writing
//
// Most programs do not call Save: packages graph, coord and step write through
// [Ledger.Commit], one atomic entry for each node that completes, with the questions
// it asks in the same entry. [Ledger.Decide] is the only door by which an answer
// comes in. A thread that waits is parked at gates, whatever it waits for: a person,
// a time, a signal ([Ledger.Signal]). [Ledger.Cancel] ends a branch, or asks the run
// that has it to; [Ledger.Anew] begins the unfinished step anew; [Ledger.Release]
// closes what the thread has as a version.
//
// A run takes its thread with [Ledger.Claim]: the claim's record rides in the run's
// first entry, and its fence number keeps stale writers out.
//
// # Reading
//
// [Ledger.Get] and [Ledger.Latest] read a state, every byte checked against its hash.
// [Ledger.List], [Ledger.Gates] and [Ledger.Threads] show what there is, [Ledger.Log]
// a thread's entries, and [Ledger.Watch] what is appended, with a cursor that misses
// nothing. A [posthouse.Observer] in [Options] is called after each operation.
//
// # Upkeep
//
// Packages retain, transfer, diff and crypt hold functions over a Ledger: removal and
// legal holds, export, import and copies, comparison, keys.
//
// # Caveats
//
// A Ledger is safe for concurrent use; commits of different threads run at once. It
// leaves the store open when it is closed. [posthouse.ErrUnknown] means that the
// outcome of a commit is not known: committing again under the same Head is safe.
//
// This package imports the root, internal/core (what it shares with upkeep) and
// internal/commit (the stages of a commit).
package ledger
