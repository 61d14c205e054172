// Package cli is the command line: one file for each command, its flags, what it
// asks of a server or does to a data directory, and how its answer is printed.
//
//	code := cli.Main(ctx, os.Args[1:], &cli.Config{Programs: open})
//
// What all commands have in common (tokens, variables, --json, errors, exit codes) is
// in the comment of cmd/posthouse.
//
// It is wiring below package app: it may import every package but app, models
// and drivers of stores.
package cli
