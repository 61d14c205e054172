// Package claims keeps the claims that sessions of an engine have, and the slots that say so.
//
//	c := all.New(id, gate)                  // a claim that was written to the task's slot
//	err := all.TrackFor(ctx, c)             // unless the session has ended since
//	c, slot, err := all.Find(ctx, id)       // the claim of a worker's call
//	all.Forget(c)                           // it was resolved
//	err := all.Free(ctx, c)                 // or its attempt is made by another worker
//
// The slot of a task is the truth: it names the gate and the session of the newest claim, and
// its fence, which each claim raises, is the claim's number. So the store refuses what an older
// claim saves. An engine tracks the claims of sessions that are here, those that it gave and
// those that it hears of: only then are they ended with the session. A claim is lost when its
// gate was decided otherwise, until its worker has heard so.
//
// [Claims] are safe for concurrent use. They call the board while they hold their lock, and are
// called by [sessions.Sessions.While] and by the hints while those hold theirs.
package claims
