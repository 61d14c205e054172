// Package dying has a store whose process is lost at a chosen append, for tests
// that go on with what is on record:
//
//	s := dying.New(store)
//	s.Die(3, true) // the third append from here is made, but nobody is told
//	ledger, err := posthouse.Open(s, nil)
//
// Unlike the faults of storetest, after which the same Ledger tries again,
// nothing that a process does behind its loss reaches the store.
//
// It imports the root package only.
package dying
