// Package all opens any store by a URL, for programs that let their user
// choose:
//
//	store, err := all.Open(ctx, "sqlite:/var/lib/posthouse/posthouse.db", nil)
//
// A program that knows its store imports that store's package instead, and does not link
// the others.
package all
