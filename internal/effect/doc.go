// Package effect is the state of an effect that runs under a grant: a table of states and events,
// and the one reader of the records that a log has of them.
//
// An effect is a step that acts on the world under the decision of a gate. Before its function
// runs, the log says that it begins; afterwards the log has its result, or says that nothing
// happened, or that the outcome is unknown. An effect of unknown outcome never runs again by
// itself: people, or the program's own reconciliation, say first what happened.
//
// [Next] is the table: what a state becomes by an event. [Use] folds the records of one effect,
// in the order of the log, into its state. [Read] does so for an execution on record. Programs
// (internal/engine, gate), handlers of workers (internal/license, dispatch), lists of effects
// (grants) and plans (ledger) all ask this package, so that they cannot disagree.
//
// [MarkNotDone] marks a function's word that nothing happened. Any other error leaves open what the
// function did.
package effect
