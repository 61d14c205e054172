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
// [Ledger.Commit], one atomic entry for each node that completes, with the questions it
// asks in the same entry. Every answer comes in through [Ledger.Decide]. A waiting
// thread is parked at gates, which wait for a person, a time, another thread or a
// signal ([Ledger.Signal]). [Ledger.Cancel] ends a branch, or asks the run that has it
// to; [Ledger.RestartStep] begins the unfinished step again; [Ledger.Release] closes the
// thread's content as a version.
//
// A run takes its thread with [Ledger.Claim]. The run's first entry records the claim,
// and the claim's fence number keeps stale writers out.
//
// # Reading
//
// [Ledger.Get] and [Ledger.Latest] read a state, every byte checked against its hash.
// [Ledger.List], [Ledger.Gates] and [Ledger.Threads] list what there is, [Ledger.Log] a
// thread's entries, and [Ledger.Watch] what is appended, with a cursor that misses
// nothing. A [posthouse.Observer] in [Options] is called after each operation.
//
// # Upkeep
//
// Packages retain, transfer, diff and crypt have functions over a Ledger: removal and
// legal holds, export, import and copies, comparison, keys.
//
// # Caveats
//
// A Ledger is safe for concurrent use; commits of different threads run concurrently.
// Closing it leaves the store open. After [posthouse.ErrUnknown] the outcome of a
// commit is not known: committing again under the same Head is safe.
package ledger
