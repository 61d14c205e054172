// Package storetest tests that a [posthouse.Store] keeps its contract. One test is
// enough to use it:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Harness{
//			Open:    func(t storetest.TB, dir string) posthouse.Store { return open(t, filepath.Join(dir, "db")) },
//			Durable: true,
//		})
//	}
//
// Every case is a subtest named after the rule it tests, so a failure reads
// "append/a conflict carries the tail", and the rule is printed in full below.
// Cases run in parallel, each on a store of its own. The suite works on stores
// through their contract alone, with well-formed entries from [Builder]:
//
//   - the rules, one file for each theme: append, ids, read, list, threads,
//     slots, remove, watch, what crosses the boundary, closing and cancelling;
//   - a state machine that compares random histories with [Model], a plain
//     reference; a failure prints the seed and the history, shortened;
//   - races: one winner for each position, nothing lost, and a check that the
//     heads are linearizable (porcupine), with a broken store as control;
//   - durable stores: another process writes and is killed, this one reads.
//
// Package ledgertest tests what the Ledger promises on top of a store, in one more
// line.
//
// A [Harness] says what a store lacks, and the suite prints what it skips. A store
// that implements [posthouse.Watcher] or [posthouse.Checker] is tested as one.
//
// [Run] takes a *testing.T or another [Runner], such as a command's own. The suite does not link
// package testing.
package storetest
