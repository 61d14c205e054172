// Package sqlitestore keeps threads in one SQLite file. It is the default
// store: nothing to install, no cgo, one process that writes.
//
//	store, err := sqlitestore.Open(ctx, "posthouse.db", nil)
//
// # What is promised
//
// A write that returned nil is on the disk: the write-ahead log was synced before. So it
// survives a killed process and a power loss ([SyncNormal] trades the second for speed).
// After a failed commit or sync the store takes no more writes until it is opened again,
// because the operating system may have dropped what it failed to write. A full disk is
// the exception: writes succeed again once there is room.
//
// One process can have the store open for writing. A lock file beside the database names
// it. The operating system releases the lock when that process ends, so a lock is never
// stale. Any number of other processes can read with Options.ReadOnly. Do not put the
// file on a network file system, where locks and the write-ahead log do not work.
//
// # How it is laid out
//
// An append is one transaction: a row in entries, the ids it brings, and the thread's
// rows. The one connection that writes knows where each log ends and compares the append
// with that. The table itself requires that an entry's number is unique in its thread.
// Callers that append at the same time share a transaction and its sync.
//
// The stored summary of a thread at rest is that of its last entry. The stored summary of
// a running thread may lack the last entries; readers apply them to it.
//
// A row has its header before its body, so a scan of headers reads no states. Entries of
// one thread that were written one after the other are neighbours in the table and are
// read in one pass. An id that is a UUID, as ours are, is its own place in the order
// across threads and has 16 bytes in the index. Other ids and orders have rows of their
// own.
//
// The runs, graphs, nodes, agents and labels of a thread's checkpoints have one index row
// for every 1,024 entries, not one for each checkpoint. A list across threads finds the
// segments that have the value, and merges them.
//
// # Disk space
//
// Removed bytes are overwritten, but the file does not shrink by itself. [Store.Compact]
// compresses bodies together and frees the space. It holds up writers while it copies
// the file.
//
// # Where things are
//
// This package writes, and reads entries, threads, gates and slots. Package internal/db
// has the connections, internal/layout the content of rows, internal/lists the planner of
// lists, and internal/check the comparison with the log.
package sqlitestore
