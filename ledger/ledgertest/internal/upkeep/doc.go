// Package upkeep has the rules of package ledgertest about deletion, retention, releases,
// copies and encryption.
//
// It may import the standard library, the root package, the packages ledger, retain,
// transfer and crypt, and desk beside it.
package upkeep
