// Package filestore keeps threads in the plain files of one directory. There is nothing
// to install and no database: a log per thread, which any tool can copy, and which
// posthouse cat prints.
//
//	store, err := filestore.Open(ctx, "/var/lib/posthouse/files", nil)
//
// # What is promised
//
// A write that returned nil is on the disk: the journal was synced before. So it survives
// a killed process and a power loss, also on a file system that promises no more than
// POSIX does: names are synced into their directories. A commit that a power loss tore
// was never acknowledged, and is cut off when the store is opened.
//
// After a failed sync the store takes no more writes until it is opened again, because
// the operating system may have dropped what it failed to write. A full disk is the
// exception: what did not fit is cut off, and writes succeed again once there is room.
//
// One process can have the store open for writing; the lock is the operating system's and
// never stale. Any number of other processes can read with Options.ReadOnly. Do not put the
// directory on a network file system, where locks and syncs do not work.
//
// Each frame of a file has two checksums, of its head and of its body. Heads are checked
// when the store is opened, bodies when they are read; Check reads everything. The
// journal also knows a digest of all entries and slots, so that a log that is missing, cut
// off or from an older copy is noticed. Whoever can write the files can forge all that:
// hashes and signatures of entries are the Ledger's.
//
// # How it is laid out
//
//	LOCK                   the lock, with the process that has it
//	READING                locked while another process reads all of the store
//	format                 "posthouse files 1"
//	journal/00000007.log   commits that are not in their logs yet
//	threads/ab/ab12….log   one log per thread, named by the SHA-256 of the thread's name
//	slots.log              slots, the newest write of each counts
//
// Callers that append at the same time share a commit: their frames go to the journal in
// one write and one sync. A segment of the journal that is full (8 MiB) is drained beside
// the commits: its frames are appended to their threads' logs, these are synced, and then
// the segment is removed. Close drains the rest. Opening the store reads logs up to where
// the journal begins, and the journal from there on, so a drain can be broken off anywhere.
//
// The index is in memory: summaries, ids, and the header of each checkpoint that lists
// filter by. It takes about 970 bytes a checkpoint, and opening takes about 9 µs a
// checkpoint (BenchmarkOpen: 1,000,000 in 8.6 s), since all heads are read. So this store is
// for up to some 100,000 checkpoints; sqlitestore opens millions at once.
//
// A removal writes a new log without the removed bytes, and renames it over the old
// one. A rewritten log begins with the thread's summary.
//
// # Caveats
//
// A store that only reads follows the journal before each read. When the other process
// has drained a segment it reads all heads again. It may see a commit just before its sync
// has returned.
//
// The last commit before a crash cannot be told from one that a power loss tore: if its
// bytes rot before the store is opened again, it is missing, and no error says so. After
// Close there is no such commit.
package filestore
