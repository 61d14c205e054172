// Package accounts binds the accounts that people log in with elsewhere to the names under which they
// are on record here.
//
//	b := accounts.New(ledger)
//	name, err := b.Enter(ctx, person)
//
// The first login of an account binds it to the name that its provider sends. From then on the account
// has that name, whatever the provider sends, and no other account gets it. Bindings are signals in a
// thread of the runtime's own, one entry each, signed as others are; a binding that an operator ended is
// on record, too.
package accounts
