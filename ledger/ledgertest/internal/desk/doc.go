// Package desk is what the cases of package ledgertest are written with: a case, and a
// Ledger over the store under test with short ways to do things to it.
//
// It may import the standard library, the root package, the packages ledger and crypt
// and package storetest.
package desk
