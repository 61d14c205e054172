// Package stream has the answers that stay open, and /api/events, which is one.
//
//	streams := &stream.Streams{Quota: quota, Unauthenticated: waiting, Unread: unread, Life: life}
//	leave, err := streams.Quota.Take(r.Actor.Name)
//	defer leave()
//	es, err := streams.Open(w)
//	streams.Pump(ctx, call.Feed.Listen(0), write, heartbeat)
//
// A stream ends when its client leaves, its token is revoked or expires, or the server closes.
package stream
