// Package s3store keeps threads in a bucket of Amazon S3 or a service like it, for teams
// that have a bucket and no database.
//
//	store, err := s3store.Open(ctx, "s3://bucket/prefix?region=eu-west-1", nil)
//	if err != nil { ... }
//	defer store.Close()
//	led, err := ledger.Open(store, nil)
//
// Credentials come from the environment, ~/.aws/credentials or the machine's role. A prefix
// is one store.
//
// # How it works
//
// The store is one journal of commits, log/0000000000000001 and so on: objects that are
// created if they are absent (If-None-Match: *). Whoever creates the next one has won;
// whoever is too late reads it and judges again. So an append is one request, a commit has
// the entries of all threads that arrived during the one before it, and ids are unique
// across threads and processes. Each process keeps an index of all of it in memory, about
// 1,110 bytes a checkpoint. Before it answers a read it asks for the next commit, which is
// one request, so it sees what any process was acknowledged.
//
// Every 64 commits a manifest repeats their heads, heads/first-last, and manifests are
// merged. So a store is opened with a few requests for each 1,024 commits. A manifest that
// is missing or damaged is made again. Slots are objects of their own, which are
// overwritten on the condition that they are as they were read (If-Match).
//
// A removal is a commit first. Then the objects with removed bytes are rewritten without
// them, with If-Match. Keys of the log are never deleted, so a writer that stalled
// cannot create a commit that was there before. About 100 bytes of each commit stay, and
// the thread's name in the commit that removed it.
//
// # What the service must do
//
// Heed If-None-Match and If-Match of a PUT, and show what it has acknowledged to the next
// request. Amazon S3, Cloudflare R2, Scaleway and MinIO document both conditions; Google's
// S3 interface does not. Open tries both and refuses a service that does not heed them,
// and a bucket that keeps old versions, since removed bytes would stay in them. Have no
// rule that expires objects under the prefix. The user needs to get, put, delete and list
// objects; where the user may read the bucket's versioning, that is asked too.
//
// # When to choose it, and when not
//
// It is for a few processes with seconds between the steps of a thread, as with calls of
// models. A commit takes as long as a put, 10 to 100 ms, and commits of a store follow
// each other, from all its processes: ten processes that append all the time wait for each
// other. Requests are billed: an append is a PUT, a read of what was appended here a GET, a
// watch a GET each second, and a process that beats each second a GET and a PUT. Past some
// 100,000 checkpoints opening takes long. With many writers, or many short steps, choose
// Postgres.
//
// A rollback of the whole bucket, and newest commits that are missing without a trace,
// cannot be told from a younger store; posthouse verify with signatures tells.
package s3store
