// Package replay is what an execution finds on record: results of steps, failures that its code
// went on from, questions and waits. [New] makes a [Log] of what the ledger has of it.
//
// A replay takes records out of the Log, one for each call that the program makes. While the
// order counts ([Log.TakeInOrder]) the program must make the recorded calls in their order; where
// calls run at once ([Log.TakeOfGroup]) or after [Log.Unorder], a call is found by its name and
// number alone. [Log.Replaying] says whether there is more to come.
//
// A Log reads nothing and writes nothing: what to do about a record that is missing, or another
// than the one that was asked for, is for its caller to say.
package replay
