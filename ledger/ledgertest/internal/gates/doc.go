// Package gates has the cases of package ledgertest about gates: one decision, votes of
// people, the inbox, and tasks that workers claim.
package gates
