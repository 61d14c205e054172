// Package upkeep has the rules of package ledgertest about what becomes of what is
// there: deletion, retention, releases, copies and encryption.
//
// It may import the standard library, the root package, the packages ledger, retain,
// transfer and crypt, and desk beside it.
package upkeep
