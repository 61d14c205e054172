// Package pgstore keeps threads in a Postgres database. It is the store for more than one
// host: any number of processes may have it open, and each thread goes on in any of them.
//
//	store, err := pgstore.Open(ctx, "postgres://posthouse:secret@db:5432/app", nil)
//
// The tables are in a schema of their own, "posthouse" unless Options.Schema says
// otherwise, beside whatever else is in the database. The first process to open the store
// makes them. It needs Postgres 12 or newer and no extension. It is tested with 15.
//
// # What is promised
//
// A write that returned nil is on the server's disk. Open refuses a server with fsync,
// full_page_writes or synchronous_commit off, where that is not so. Whether it survives
// the loss of the server is up to its replication: with synchronous standbys it does.
//
// A lost connection, a restart and a failover cost time, not data. Reads are repeated.
// An append is asked again, since one that is there already succeeds. After
// Options.Timeout a write fails with [posthouse.ErrUnknown] and a read with
// [posthouse.ErrUnavailable], and the caller may ask again.
// A write to a slot is not repeated, because it may have been done. A server that reports
// damaged data makes the store refuse writes until it is opened again.
//
// Decisions are read from the server that takes the writes. Name several hosts with
// target_session_attrs=read-write, and connections find the primary. A standby can be
// opened with Options.ReadOnly.
//
// # How an append works
//
// An append is one round trip: the call of a function in the database. It moves the
// thread's row on if that is at the expected position, and writes entry, ids, summary and
// open gates with it. Appends that wait at the same time are sent together and share a
// transaction and its sync. A process commits two such groups at once. One that is refused writes nothing and does not fail the
// others. Two processes that append to one thread wait for each other at its row.
//
// Lists are answered by the planner of Postgres, from an index of order keys, one of
// coordinations, and one of terms: hashes of run, graph, node, agent, labels and rare
// statuses. Each result is matched with the query again. Names, ids and hashes are bytes
// to the database, so its encoding and collation do not matter.
//
// # Watching
//
// Transactions commit in another order than they began to write, so a number that each
// takes when it writes would be passed by a watch before it is there. A watch shows an
// entry once no older transaction runs. This costs the appends nothing, but a transaction
// that has written something and stays open, anywhere on the server, also in another
// database, holds back all watches until it ends. Look for it in pg_stat_activity, by
// backend_xid. The other way, a row that numbers commits one by one, would let them wait
// for each other: with eight writers there were 2.6 times as many appends without it
// (BenchmarkWatchOrder; docs/adr/0005 has what was measured).
//
// NOTIFY tells other processes that there is something new, and they poll each
// Options.Poll besides. A process that watches has one more connection, which listens.
//
// # Poolers
//
// For a pooler of transactions, such as PgBouncer with pool_mode=transaction, set
// Options.Pooler or add pooler=true to the URL. Then no statement is prepared and nothing
// is set for a session. LISTEN does not work there, so watches poll. The pooler must let
// application_name pass. A pooler of statements does not work: migrations, removals and
// bulk appends are transactions of several statements.
//
// # Backups
//
// The store is backed up as its database is, with pg_dump or an archive of the
// write-ahead log, so it is no [posthouse.Backuper]. A dump may be read into another
// server: cursors of watches from before are then refused, where they would skip entries.
//
// # Where things are
//
// The tables are in migrations/0001_init.sql, the functions that append in 0003_minutes.sql. File
// append.go sends groups of appends, row.go and internal/wire encode them, watch.go and
// listen.go watch, and check.go compares everything that is derived with the logs.
package pgstore
