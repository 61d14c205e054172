package upkeep

import (
	"slices"

	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

// Cases lists the rules.
func Cases() []desk.Case {
	return slices.Concat(deleteCases(), birthCases(), keepCases(), retainCases(), finishedCases(), slotCases(), releaseCases(), copyCases(), sealedCases(), activityCases())
}
