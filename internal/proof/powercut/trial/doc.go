// Package trial puts stores to the test: it cuts the power, or kills processes, while a
// store is written, and counts what was acknowledged and is lost.
//
//	part := trial.Part{Store: trial.Find("sqlite"), Harness: trial.Power, Model: powercut.Strict, Rounds: 200, Seed: 7}
//	result, err := part.Run(ctx, &trial.Options{})
//
// A round starts a child, which is this binary again. It opens the store on a
// [powercut.Disk], checks all that earlier rounds acknowledged, and goes on: several
// writers save checkpoints, ask and decide, fork, and write slots through a Ledger. Each
// line they print is an acknowledgement. At a random change the power goes, everything
// that runs is killed, and the disk loses by chance what was not synced. The next round
// sees what is left. With [Kill] there is a plain directory, and the child, or the server,
// is killed.
//
// Losses and damage without a fault of the round itself are counted, and the disk is kept
// for whoever looks for the reason. Control arms run the same with a setting that is
// known to be bad, and must lose something: a trial whose arms lose nothing proves
// nothing, and fails.
//
// A [Line] says what a part found; the lines are checked in as docs/record/durability.jsonl, and
// docs/guarantees/records.md quotes their sums. A new store is a line in stores.go.
package trial
