// Package lineartest tests that what many clients of a [posthouse.Store] see at once is
// linearizable: one order explains every answer and agrees with real time. It is called
// like package storetest, beside it:
//
//	func TestLinearizable(t *testing.T) { lineartest.Run(t, harness) }
//
// It checks heads, which are appends and reads of where a log ends. A store that takes
// appends without comparing is the control. The check is porcupine's. A package of its own
// keeps that out of programs that run the other suites.
package lineartest
