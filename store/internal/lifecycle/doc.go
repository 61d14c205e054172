// Package lifecycle says whether a store is open, and what it still takes.
//
//	s.lifecycle = ...                       // its words, when the store is opened
//	if err := s.lifecycle.Usable(ctx); ...  // before each call
//	if err := s.lifecycle.Writable(ctx); ...// before each write
//	s.lifecycle.Poison(err)                 // after an error that leaves open what is stored
//	if !s.lifecycle.Close() { return nil }  // Close, the second time
//
// A store goes one way only: open, then poisoned or not, then closed. A poisoned store
// serves reads until it is closed. The caveat: a check before a call does not keep the
// store open during it. Close waits for calls in progress by other means.
package lifecycle
