// Package retain removes what a store need not keep, and protects what it must keep.
//
// [Run] applies a [Policy] once, [Every] at intervals; [Delete], [DeleteThread],
// [DeleteCoordination] and [DropRelease] remove by name; [Hold] forbids removal, and
// [Compact] gives the space back:
//
//	report, err := retain.Run(ctx, led, retain.Policy{MaxAge: 30 * 24 * time.Hour}, nil)
//	deleted, err := retain.Delete(ctx, led, checkpoint, nil)
//
// A record in the thread's log attests every removal from it: what was removed, by whom and why.
// A body is removed once no kept checkpoint needs it. A policy never removes a branch's
// head, a waiting gate, or what a kept checkpoint is rebuilt from.
package retain
