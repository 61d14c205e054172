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
// through their contract alone, with well-formed entries from [Builder]. There is one file
// for each theme: append, ids, read, list, threads, slots, remove, watch, what crosses the
// boundary, closing and cancelling, and for durable stores reopening: another process
// writes and is killed, this one reads.
//
// Package stresstest has the cases with many clients, and compares random histories with a
// [Model]. Package lineartest checks that what clients saw is linearizable. Package
// ledgertest tests what the Ledger promises over a store. Each takes one more line.
//
// A [Harness] says what a store lacks, and the suite prints what it skips. A store
// that implements [posthouse.Watcher], [posthouse.Checker] or [posthouse.Informer] is tested as one.
//
// [Run] takes a *testing.T or another [Runner], such as a command's own. The suite does not link
// package testing.
package storetest
