// Package substitutes says who decides in whose place while they are away.
//
//	s, err := substitutes.Name(ctx, led, deciders.Substitution{By: "alice", To: "bob", Until: monday})
//	...
//	err = substitutes.Withdraw(ctx, led, s.ID, substitutes.Withdrawal{By: "alice"})
//
// Until that time bob may decide what is assigned to alice: [ledger.Ledger.Decide] finds
// the substitution, and the entry of the decision has it as an assignment, by the rules of a
// delegation. Nothing is moved before, so a substitution that ends leaves nothing.
//
// Substitutions are records of a thread of the runtime's own, one entry a change, signed and
// sealed as others are. A copy of the store has them; no thread is imported or written under that
// name.
package substitutes
