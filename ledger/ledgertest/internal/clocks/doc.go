// Package clocks has the cases of package ledgertest about clocks that jump.
//
// It may import the standard library, the root package, the packages ledger and
// internal/commit, package storetest and the desk.
package clocks
