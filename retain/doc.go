// Package retain removes what a store need not keep, and sees that it keeps what it
// must.
//
// [Run] applies a [Policy] once, [Every] at intervals; [Delete], [DeleteThread],
// [DeleteCoordination] and [DropRelease] remove by name; [Hold] forbids removal, and
// [Compact] gives the space back:
//
//	report, err := retain.Run(ctx, led, retain.Policy{MaxAge: 30 * 24 * time.Hour}, nil)
//	deleted, err := retain.Delete(ctx, led, checkpoint, nil)
//
// Every removal is a record in the thread's log: what went, by whom and why. Bodies go
// once no checkpoint that stays needs them. A branch's head, a waiting gate and what a
// kept checkpoint is rebuilt from never go by policy.
//
// This package imports the root, internal/core and internal/commit. It takes a Ledger
// for its core, and never imports package ledger.
package retain
