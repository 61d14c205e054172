// Package redisstore keeps threads in Redis, for teams that run one already and several
// processes that share their threads.
//
//	store, err := redisstore.Open(ctx, "redis://localhost:6379/0", nil)
//	if err != nil { ... }
//	defer store.Close()
//	led, err := ledger.Open(store, nil)
//
// Each append is one call of a script, which Redis runs alone and as a whole: it compares
// the end of the log, looks at the ids, and writes the entry, its index and the summary.
// Nothing expires.
//
// # What the server must be set to
//
// Redis answers before it has written anything to its disk, unless it is told not to.
// Open asks for
//
//	appendonly yes
//	appendfsync always
//	no-appendfsync-on-rewrite no
//	aof-load-truncated no
//	maxmemory-policy noeviction
//
// and refuses anything else with [posthouse.ErrUnsupported], also if the server does not
// tell. Options.AllowWeak accepts what there is: then a crash of the server loses what it
// had acknowledged, and with another policy a full server deletes threads. [Store.Weak]
// says what is weak at any time. With appendfsync always the server syncs its file before
// it answers, so WAITAOF would add nothing.
//
// A power cut may tear the end of that file, and so may a kill of the server while it writes. A torn write was never
// answered, but the server then does not start, and says so in its log: run
//
//	redis-check-aof --fix appendonlydir/appendonly.aof.manifest
//
// which cuts the torn append off. With aof-load-truncated yes, which is Redis's default,
// the server starts at once and keeps the first half of the append in its file. Writes
// that it acknowledges after that are lost when the file is repaired later, or are applied
// together with the half.
//
// # Caveats
//
// Only a primary is taken, and no cluster: ids belong to all threads, so a script needs
// all keys on one server. A replica copies later than the primary answers. After a
// failover, of Sentinel too, acknowledged entries may be gone.
//
// Redis holds everything in memory: besides its entry a checkpoint takes about one
// kilobyte of index. A full server refuses appends with [posthouse.ErrFull] and goes on
// once there is room.
//
// Redis 7.0 or newer. A user for the store needs ~{prefix}:*, &{prefix}:* and the
// commands of scripts, strings, hashes, sorted sets and publishing, CONFIG GET and INFO.
package redisstore
