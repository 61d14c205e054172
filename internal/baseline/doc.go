// Package baseline measures the least that a durable step can cost on SQLite.
//
// A step is one row with its bytes in a table (thread, seq, data) with a unique
// index. It is written through the driver of the real store, with the same settings:
// write-ahead log, synchronous FULL, prepared statements. There is no summary, no
// index of ids, no hash and no check. Callers that arrive together share a commit as
// they do in the store.
//
// A machine's absolute numbers say little. Benchmarks and posthouse bench quote the
// ratio to this, in interleaved rounds of one run.
package baseline
