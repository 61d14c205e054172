// Package natsstore keeps threads in NATS JetStream: on the servers that a team runs
// already, for any number of processes, or with a server in this process.
//
//	store, err := natsstore.Open(ctx, "nats://localhost:4222", nil) // or "nats:/var/lib/desk"
//	if err != nil { ... }
//	defer store.Close()
//	led, err := ledger.Open(store, nil)
//
// # What is where
//
// The log is one stream, posthouse-log, with a subject for each thread. An append is one
// message, which the server takes only if the thread's last message is the one that this
// process knows: that comparison is the conditional append, and one synced write is all an
// append costs. Bodies above 32 KB are written before it, in chunks, to posthouse-aside.
// Slots are keys of the bucket checkpoints, {thread}.{step} with all bytes but letters,
// digits, _ and - written as = and two hexadecimal digits; other clients read a slot's
// bytes as the key's value. A value that a task's handler saved is framed there: 8 bytes of
// a SHA-256 of what follows, the length of a JSON object as an unsigned varint, the object,
// and the saved bytes after it. Slots of processes are in checkpoints-process. No key has a
// TTL: a slot stays as long as its thread.
//
// Every process reads the whole log when it opens the store, keeps an index of it in memory,
// and follows it. All apply the same messages in the same order, so all have the same
// index: of two processes that bring one id to two threads at once the first counts, and
// the other's message counts for nothing. A read of servers elsewhere asks for the end of
// the log first, one round trip, so it sees what any process had acknowledged. With the
// server in this process there is no other writer, and lists and lookups make no request.
//
// The server overwrites removed bytes once the log says that they are gone.
//
// When the disk of a server in this process is full, writes fail with [posthouse.ErrFull] and
// have written nothing, and reads go on. Within seconds after 4 MiB are free the server is
// started again, in the same open store, and writes go on. After any other failure of a write
// the disk's content is unknown: the store takes no more writes until it is opened again. A
// server elsewhere that has found no room does not answer writes before somebody has started
// it again: they fail with [posthouse.ErrUnknown].
//
// # What of NATS it does not use
//
// Much of NATS is not used that a store could be made of:
//
//   - No bucket has summaries or an index. An append would be two or three synced writes, a
//     crash could leave the first alone, and lists would ask the server key by key. Every
//     process derives both from the log. The price is memory, and a start that reads the log.
//   - Large bodies are no objects of an object store, but chunks in a stream. An object has a
//     second message that describes it, and so a second synced write; here the entry names
//     its chunks and has their hash. Other clients cannot read a large body by a name.
//   - There is no TTL, not as an option either. Expiry would take a waiting thread's slot
//     with its fence, or an entry that later ones need, and no record would say so. Package
//     retain removes old threads, and records each removal. Open refuses a stream that
//     somebody has given an age.
//
// # What the server must be set to
//
// A NATS server answers before it syncs, unless it is told not to. A server in this process
// is. One elsewhere needs, on each server of a cluster,
//
//	jetstream { sync_interval: always }
//
// and does not tell its clients whether it has that: [Store.Weak] says so, and Open tells
// Options.Logger. Open refuses what it can see: streams in memory, with persist_mode async,
// with limits that delete messages, or with fewer than three replicas in a cluster.
//
// One cluster keeps the streams, and any of its servers may be lost. Superclusters are not
// supported: Open fails with [posthouse.ErrUnsupported] where the streams are in another
// cluster than the server it is connected to, and a process writes no more once its
// connection moves to another cluster. NATS does not tell its clients of gateways that lead
// from their own cluster to others; nothing of the store crosses those.
//
// # When not to choose it
//
// A server that finds a damaged block of a stream drops everything after the damage, without
// an error. So a witness in another stream says what the log must have. Opening the store
// compares the two, and says "data loss detected", [posthouse.ErrCorrupt], where messages
// are gone. The witness is written every 512 messages, before messages are deleted and by
// Close: a loss of messages appended after the last witness is not noticed. Where a lost
// disk or a flipped bit may cost nothing, take Postgres, SQLite or files.
//
// A damaged sequence number in a file of the server makes it count to that number, and take
// all memory, when it starts. For the server in this process Open looks for such damage
// before, and fails with [posthouse.ErrCorrupt].
//
// Every process keeps an index of all checkpoints in memory, and opening reads everything:
// some 100,000 checkpoints are fine, millions are not. The server in this process does not
// group commits: a thousand threads at once append little faster than one.
//
// A user for the store needs to publish to posthouse.>, $KV.checkpoints.>,
// $KV.checkpoints-process.> and $JS.API.>. Names begin with Options.Prefix.
package natsstore
