// Package ledgertest tests what a Ledger promises over a [posthouse.Store]. One line is
// enough to use it, beside the one for package storetest:
//
//	func TestStore(t *testing.T)  { storetest.Run(t, harness) }
//	func TestLedger(t *testing.T) { ledgertest.Run(t, harness, nil) }
//
//	func BenchmarkStore(b *testing.B) { ledgertest.Bench(b, harness, nil) }
//
// A store that keeps the contract of storetest should pass: the rules here are the
// Ledger's. Cases are subtests named after their rule, each on a store of its own:
//
//   - theme ledger: saves, lists, forks, deletion, gates and votes, leases,
//     events, releases, copies, signals, encryption;
//   - theme faults: [Faulty] makes the n-th call of the store fail, or do its work
//     and lose the answer, for every n, under a script of Ledger operations.
package ledgertest
