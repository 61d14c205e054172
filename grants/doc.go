// Package grants reads from a thread's log which effects ran under which approval.
//
// A gate with a decision that approves an effect licenses it: that is a grant. Programs and
// handlers propose effects and run them with package gate, which records each one under
// the gate that licenses it. This package reads those records back. A [Gatherer] is given
// the entries of a log in their order and says of each effect how far it has come. A
// [Grant] is a gate with the effects that ran under it, and its [Approval] says whether
// more may run.
//
// Most programs call ledger.ReadGrant and ledger.Effects, which read a log for them.
// Package sign uses a Gatherer to check a log without a Ledger.
package grants
