// Package sqlitestore keeps threads in one SQLite file. It is the default
// store: nothing to install, no cgo, one process that writes.
//
//	store, err := sqlitestore.Open(ctx, "posthouse.db", nil)
//
// # What is promised
//
// A call that returned nil is on the disk: the write-ahead log was synced
// before, so neither a killed process nor a lost power supply takes it back
// ([SyncNormal] trades the second for speed). After a failed commit or sync
// the store takes no more writes until it is opened anew, because after such
// an error the operating system may have thrown away what it failed to write;
// only a full disk is forgiven, once there is room.
//
// One process can have the store open for writing. A lock file beside the
// database says which; it is the operating system that drops the lock when
// that process ends, so nothing is ever stale. Any number of processes can
// read beside it with Options.ReadOnly. Do not put the file on a network file
// system, where neither locks nor the write-ahead log work.
//
// # How it is laid out
//
// An append is one transaction: a row in entries, the ids it brings, and the
// thread's rows. The one connection that writes knows where each log ends, which
// is what the append is compared with; that an entry's number is unique in its
// thread is the table's own condition. Callers that append at the same time
// share a transaction and its sync.
//
// The summary of a thread that rests is that of its last entry. While a thread
// is being moved, its stored summary may be some entries behind, and whoever
// reads it applies those.
//
// What a scan of headers reads stands before the body in a row, so that
// histories are read without their states; entries of one thread that were
// written one after the other lie so in the table and are read in one go. An id
// that is a UUID, as ours are, is its own place in the order across threads and
// has 16 bytes in the index; foreign ids and foreign orders have rows of their
// own.
//
// Which runs, graphs, nodes, agents and labels the checkpoints of a thread have
// is noted once for every 1,024 entries, not with each checkpoint: a list across
// threads finds those that have what it looks for, and reads them merged.
//
// # Room
//
// Removed bytes are overwritten, but the file does not shrink by itself.
// [Store.Compact] compresses bodies together and gives the room back; it holds
// up writers while it copies the file.
//
// # Where things are
//
// This package writes, and reads entries, threads, gates and slots. Below it,
// internal/db has the connections, internal/layout what a row holds, internal/lists
// the planner of lists, internal/check the comparison with the log.
//
// The package may import the root package, internal/delta, internal/durable,
// internal/filelock, internal/groupcommit, internal/sqlschema, what is below it and
// the SQLite driver.
package sqlitestore
