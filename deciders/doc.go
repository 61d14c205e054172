// Package deciders says who may decide a gate, and when the votes of a quorum decide it.
//
// A gate names its assignees, and its log the delegations and the escalation that moved
// their right. [Of] puts the two together. [MayDecide] says why a person may not give a
// verdict, or nothing: the Ledger goes by it, and pages and commands that offer verdicts
// ask it what to offer. [MayAskAgain] says the same of asking a question again. All of
// them read the gate alone: roles and policies are not their affair.
package deciders
