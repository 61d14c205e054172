// Package memstore keeps threads in memory, for tests, experiments and work that may be
// lost. It is not durable: everything is gone when the process ends.
//
//	led, err := ledger.Open(memstore.New(), nil)
//
// In all other respects it keeps the contract of [posthouse.Store]: atomic and
// conditional appends, replay, slots with fences and the rest. A program that passes
// its tests here runs on a durable store unchanged. Only memory bounds the store:
// remove threads that are done, or set Options.MaxCheckpoints of the Ledger.
//
// [Noop] is a store that keeps nothing at all, for programs that want to run
// without checkpoints and without a special case for it.
//
// Package memindex has the index. Its lock guards the entries too. The store copies
// every byte that it takes or gives out. An iterator holds no lock while the caller's
// code runs: it goes on from its position, and shows entries appended in between if they
// sort after it.
package memstore
