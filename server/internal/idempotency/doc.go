// Package idempotency has requests with the header Idempotency-Key done once, however often a
// client sends them.
//
//	keys := idempotency.New(l, time.Now)
//	err := keys.Serve(w, r, "alice", route.Handle) // or Begin, for routes that answer by themselves
//
// A key belongs to who sent it. Its request is kept in slots of the store, so it holds in
// every process over the store and after a restart: 256 slots have the records, and each answer
// has a slot of its own, encrypted with the key, which is not stored.
//
// A request that runs is held by its server for 30 seconds at a time. Once its server is gone it is
// open: sent again, it runs again under the id that it had, as [api.Reserved] tells its
// handler, which looks for what the first attempt has put on record.
//
// It knows no route, and nothing of what handlers do.
package idempotency
