// Package baseline is the yardstick that speed is measured against: the least
// a durable step can cost on SQLite.
//
// One row with the step's own bytes in a table (thread, seq, data) with a
// unique index, written through the same driver and with the same settings as
// the real store (write-ahead log, synchronous FULL, prepared statements), and
// nothing else: no summary, no index of ids, no hash, no check. Callers that
// arrive together share a commit as they do in the store.
//
// A machine's absolute numbers say little; the ratio to this, in interleaved
// rounds of one run, does. Benchmarks and posthouse bench quote it.
//
// It imports the standard library, internal/groupcommit and the SQLite driver.
package baseline
