// Package commit turns a [Plan] into the records of one entry, stage by stage.
//
// commit.go lists the stages in order: the lease, requests to cancel, the branch's
// head, steps, signals taken, left gates, the checkpoint, gates opened, rules,
// release. Each stage is a method in its own file: it reads the plan and the
// transaction, adds records and returns. Stages do not call each other. Then
// core.Append takes over: seal, sign, put, apply.
//
// A [Committer] is a core with the [Rules] of its Ledger.
//
// A draft, a fork, a copy, a cancellation and a revision are all plans. Decisions,
// votes and signals are shorter: functions of this package append them in a transaction
// of their own ([Decide], [Assign], [Send]).
package commit
