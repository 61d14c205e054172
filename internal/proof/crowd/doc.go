// Package crowd fills stores with more than people would write: very many threads, and a long thread with
// many branches. Tests of lists, pages and queries look at them.
//
//	err := crowd.Threads(ctx, led, 100_000)
//	err = crowd.Long(ctx, led, "long", 10_000, 40)
//
// The command fill does both to a file:
//
//	go run ./internal/proof/crowd/fill -threads 100000 /tmp/crowd/posthouse.db
package crowd
