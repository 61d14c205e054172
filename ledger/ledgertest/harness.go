package ledgertest

import (
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/clocks"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/gates"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/upkeep"
	"github.com/posthouse/posthouse/store/storetest"
)

// Options are for [Run] and [Bench]. Nil is the zero value.
type Options struct {
	// Cipher seals the Ledger's bodies. The rules hold with and without it. It may be nil.
	Cipher posthouse.Cipher
}

// Cases lists the suite, theme by theme.
func Cases(o *Options) []storetest.Case {
	if o == nil {
		o = &Options{}
	}
	var cases []storetest.Case
	for _, c := range slices.Concat(ledgerCases(), nameCases(), faultCases()) {
		cases = append(cases, c.Over(o.Cipher))
	}
	return cases
}

// Run runs the suite over a store. It is called like [storetest.Run], under the same
// conditions.
func Run[R storetest.Runner[R]](t R, h storetest.Harness, o *Options) {
	storetest.RunCases(t, h, Cases(o))
}

// ledgerCases are the rules that the Ledger keeps on top of any store. They include the
// behaviour of the checkpoint stores of other systems where ours is the same.
func ledgerCases() []desk.Case {
	return slices.Concat(
		ledgerSaveCases(), ledgerListCases(), ledgerForkCases(),
		gates.Cases(), ledgerLeaseCases(), clocks.Cases(), ledgerEventCases(), ledgerStateCases(),
		ledgerSharedCases(), ledgerSignalCases(), ledgerOwnCases(), ledgerLogCases(), upkeep.Cases(),
	)
}
