package stresstest

import (
	"slices"

	"github.com/posthouse/posthouse/store/storetest"
)

// Cases lists the suite, theme by theme.
func Cases() []storetest.Case { return slices.Concat(machineCases(), raceCases()) }

// Run runs the suite over a store. It is called like [storetest.Run], under the same
// conditions.
func Run[R storetest.Runner[R]](t R, h storetest.Harness) { storetest.RunCases(t, h, Cases()) }
