// Package commit turns a [Plan] into the records of one entry, stage by stage.
//
// commit.go lists the stages in order: the lease, requests to cancel, the branch's
// head, steps, signals taken, gates left behind, the checkpoint, gates opened, rules,
// release. Each stage is a method in a file of its own: it looks at the plan and the
// transaction, adds records and returns. Stages do not call each other. What follows,
// seal, sign, put and apply, is core.Append's.
//
// A draft, a fork, a copy, a cancellation and a revision are all plans. Decisions,
// votes and signals are shorter: they append their records by functions of this
// package ([Decide], [Assign], [Send]) in a transaction of their own.
//
// This package imports the root, internal/core and internal/delta. Packages ledger,
// retain and transfer call it; it knows none of them.
package commit
