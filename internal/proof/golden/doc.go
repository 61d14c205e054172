// Package golden asks stores of earlier versions what they hold. So it notices a
// change of the format, or of what is derived from it.
//
// testdata has a directory for each version that wrote stores, named by its
// commit. In it are SQLite files, thread files as transfer.Export wrote them, for
// each store its answers, and the program that wrote them all; or the same content as
// every other kind of store keeps it. The tests open copies: every answer of then must
// be given today, on each kind and in memory, and the programs of the threads that
// wait in the stores must go on with them.
//
// Answers are plain JSON. A later version may add to an answer; a change or an
// omission fails the tests. The answers of a version are never rewritten: a
// change that means to break them says so in its commit and edits the line.
//
// # A new version
//
// A release with another format gets a directory of its own. The README in
// testdata says how the stores of a commit are written.
//
// The package has tests only.
package golden
