// Package cli is the command line: one file for each command, its flags, what it
// asks of a server or does to a data directory, and how its answer is printed.
//
//	code := cli.Main(ctx, os.Args[1:], &cli.Config{Programs: open})
//
// Commands talk to a server over HTTP (--server, POSTHOUSE_SERVER) with a token
// from a file (--token-file, POSTHOUSE_TOKEN_FILE, by default that of the data
// directory) or from POSTHOUSE_TOKEN; never from the command line, where other
// users could read it. verify, compact, backup and key work on the data
// directory without a server; bench needs nothing.
//
// Every flag has an environment variable, POSTHOUSE_ and the flag's name in
// capitals. --json turns every answer into JSON on standard output. Errors go
// to standard error and say what to do next; exit codes are those of
// docs/errors.md.
//
// It is wiring below package app: it may import every package but app, models
// and drivers of stores.
package cli
