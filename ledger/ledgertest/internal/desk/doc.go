// Package desk has what the cases of package ledgertest use: a case, and a Ledger over the
// store under test with helpers.
//
// It may import the standard library, the root package, the packages ledger and crypt
// and package storetest.
package desk
