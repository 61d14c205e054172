// Package threadlog reads the logs of threads.
//
// [Logs] are those of a store. [Logs.InOrder] yields the entries of a thread, and fails
// where one is missing. A [Reader] reads entries of one thread in any order, checks each
// against its hash, opens its bodies, and keeps what it read: [Reader.Rebuild] makes a
// checkpoint with its state of a full value and the changes since, [Reader.GateAt] a
// gate with its decision, votes and assignments.
//
// An [Execution] is what steps and questions an unfinished step has on record. Its [Lineage]
// says which entries of which branches those are. An [Unfinished] reads them, and reads on as
// the log grows. A [Tree] is all checkpoints of a thread: their parents, and the bodies that
// each needs.
//
// The package appends nothing. The memory of a process between reads is package core's.
package threadlog
