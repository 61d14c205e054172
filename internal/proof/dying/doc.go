// Package dying has a store that loses its process at a chosen append. Tests go
// on with what is on record then:
//
//	s := dying.New(store)
//	s.Die(3, true) // the third append from here is made, and fails all the same
//	led, err := ledger.Open(s, nil)
//
// Unlike the faults of storetest, after which the same Ledger tries again,
// nothing that a process does after its loss reaches the store.
package dying
