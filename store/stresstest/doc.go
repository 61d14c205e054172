// Package stresstest tests that a [posthouse.Store] keeps its contract with many clients
// at once and under any history. It is called like package storetest, beside it:
//
//		func TestStore(t *testing.T)  { storetest.Run(t, harness) }
//		func TestStress(t *testing.T) { stresstest.Run(t, harness) }
//
//	  - race: one winner for each position and each id, nothing lost, readers that see whole
//	    entries while writers go on;
//	  - machine: a state machine compares random histories with a plain reference, the
//	    [storetest.Model]; a failure prints the seed and the history, shortened.
//
// Package lineartest checks that what racing clients saw is linearizable.
package stresstest
