// Package tutorial walks through docs/quickstart.md and docs/tutorial.md word for
// word: it writes the files that they show, runs their commands in their order,
// and compares what each prints.
//
// It holds tests only. A block of a page is one of these:
//
//	```go refund.go       a file of the module, which replaces an earlier one
//	```console            commands, each after "$ ", with what they print
//	^C                    in a console: ends the newest program that goes on
//
// A command that serves, or works, goes on until then.
package tutorial
