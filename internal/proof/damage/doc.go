// Package damage counts what stores make of damage, and keeps a record of it: make damage.
//
//	tally := damage.Begin(t)
//	for at := 0; at < len(file); at += damage.Step(29) {
//		tally.Found("flipped") // or Same, or Served
//	}
//
// The tests are those of the stores, listed in [Stores]. In each run of the tests they try a
// sample. With POSTHOUSE_DAMAGE=all they try every byte, and the command in cmd/damage
// records their tallies. docs/guarantees/records.md quotes the record.
package damage
