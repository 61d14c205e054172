// Package desk has what the cases of package ledgertest use: a case, and a Ledger over the
// store under test with helpers.
package desk
