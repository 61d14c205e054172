// Package authlog puts on record who logged in and out, which credentials were refused, and which
// access tokens were made and revoked.
//
//	a := authlog.New(&authlog.Options{Ledger: l, Tokens: list, Life: life, Log: log, Now: time.Now})
//	a.LoggedIn(tok, authlog.Visit{By: authlog.ByToken, Address: authlog.Address(r)})
//	...
//	a.Close(ctx) // writes what is not on record yet
//
// The records are signals of a thread of the runtime's own, [Thread], each with an [Act] as its value. They
// never have a secret. Only operators read them: they tell where people work.
//
// Whoever tries a million tokens must not fill the log. In an hour at most [maxRefused] refusals have a
// record of their own, and at most [maxRefusedFrom] of one network. Further ones are summed, and each five
// minutes the sum is one record. The same holds for logins, with larger figures. So a server adds at
// most about a megabyte a day of refusals, however many there are.
//
// A login is answered when it is on record, or after two seconds: a store that cannot be written must not
// keep an operator out. A kill loses what is summed, and what the store did not take.
package authlog
