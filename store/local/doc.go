// Package local opens a store on this machine by its address: memory, a directory or a file.
//
//	store, err := local.Open(ctx, "sqlite:/var/lib/posthouse/posthouse.db", nil)
//
// Package store/all opens every store, and links every driver. A program that knows its
// store imports that store's package instead.
package local
