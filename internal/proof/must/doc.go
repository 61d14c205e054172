// Package must is what tests of all packages say of errors, in one line each.
//
//	l := must.Get(ledger.Open(store, nil))(t)    // the value, or the test ends
//	must.Do(t, l.Close())                        // no error, or the test ends
//	must.Fail(t, l.Close(), posthouse.ErrClosed) // this error, or the test ends
//
// The message of a test that ends so is the error, and what was wanted. What has to be said beside
// it, which case it is say, a test says itself.
package must
