// Package scratch makes namespaces beside a user's data, to be thrown away: a schema of a
// database, a prefix of a server, a directory beside a file.
//
//	server := scratch.Server{URL: url, Open: open}
//	store, err := server.Make(ctx, "case-1")
//	...
//	err = server.Drop(ctx, "case-1")
package scratch
