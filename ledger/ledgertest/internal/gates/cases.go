package gates

import (
	"slices"

	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

// Cases lists them.
func Cases() []desk.Case {
	return slices.Concat(gateCases(), peopleCases(), inboxCases(), noticeCases(), substituteCases(), taskCases())
}
