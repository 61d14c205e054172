// Package model has the plainest store that keeps the contract, and what each query must
// answer by the contract's words. It has no index and no file. The cases of the suites
// compare other stores with it, and tests of the suites spoil it to see that a case fails.
package model
