// Package differential gives every kind of store the same random operations, and wants the
// same observable trace of all: results, and errors with their codes, fields and tails.
//
//	sites, err := differential.Start(dir)
//	defer sites.Close()
//	found, err := sites.Run(ctx, differential.Batch{Seed: 7, Sequences: 20})
//
// A sequence is a few operations on threads of its own: appends of every kind of record,
// also at wrong places and again, bulk appends, removals, slots, reads, lists by index term,
// the inbox, and a watch from where the last one ended. The sequences of a batch share one
// store of each kind, so that lists over all threads see what is left of the others. The
// store in memory goes first and says what the trace is. The trace leaves out what a store
// may choose: cursors, revisions of slots, how many bytes a removal freed.
//
// The first sequence with a differing trace is made again without its neighbours and
// without the operations that do not matter, and printed with its seed.
//
// It is for tests and commands.
package differential
