// Package crash kills a process between two commits, for the tests of the examples. A
// durable program loses nothing and does nothing twice, wherever it is killed.
//
// A test's binary starts itself again as the program: [Run] in the test, [Store] in what it starts.
package crash
