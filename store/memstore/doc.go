// Package memstore keeps threads in memory: for tests, for trying things out,
// and for work whose loss nobody minds. It is not durable: everything is gone
// when the process ends.
//
//	ledger, err := posthouse.Open(memstore.New(), nil)
//
// Beside that it keeps the whole contract of [posthouse.Store], atomic and
// conditional appends, replay, slots with fences and the rest, so what passes
// its tests here runs on a durable store unchanged. It is bounded by nothing
// but memory: remove threads that are done, or set Options.MaxCheckpoints of
// the Ledger.
//
// [Noop] is a store that keeps nothing at all, for programs that want to run
// without checkpoints and without a special case for it.
//
// Entries are kept as they were handed in, under one short lock; ids resolve
// through a map, lists through an index sorted by order key that is cheap to
// extend at its end. Whatever crosses the boundary is copied. Iterators hold no
// lock while the caller has the word: they go on from where they were, and show
// what was appended meanwhile if it comes later in their order.
//
// The package may import the standard library and the root package.
package memstore
