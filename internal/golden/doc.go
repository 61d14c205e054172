// Package golden asks stores that earlier versions wrote what they hold, so
// that a change of the format or of what is derived from it is noticed.
//
// testdata has a directory for each version that wrote stores, named by its
// commit. In it are SQLite files, thread files as transfer.Export wrote them, for
// each store its answers, and the program that wrote them all. The tests open
// copies: every answer of then must be given today, on SQLite and in memory, and
// the programs whose threads wait in the stores must go on with them.
//
//	got, err := golden.Ask(ctx, ledger, ring)
//	for _, difference := range golden.Differences(want, got) { ... }
//
// Answers are plain JSON. What a later version adds to an answer is no
// difference; what it changes or no longer says is one. The answers of a version
// are never written anew: a change that means to break them says so in its
// commit and edits the line.
//
// # A new version
//
// A release whose format differs gets a directory of its own. The README in
// testdata says how the stores of a commit are written.
//
// The package imports the root package and sign.
package golden
