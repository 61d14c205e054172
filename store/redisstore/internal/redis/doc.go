// Package redis is a client of one Redis server, as small as a store needs it: commands of
// words, replies, scripts and one subscription at a time, in RESP2.
//
//	c, err := redis.Open(ctx, options)
//	m, err := c.Do(ctx, "HGET", key, field)
//
// Calls of many goroutines share one connection and its round trips: a call is written at
// once, also while others wait for their answers. A connection that is lost, or silent for
// longer than Options.Timeout while calls wait, is closed, and the next call makes another.
// No command is sent twice: the caller decides whether that is safe.
package redis
