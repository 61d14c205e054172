// Package lifecycle says whether a store is open, and what it still takes.
//
//	s.lifecycle = lifecycle.State{Store: "the store " + path}  // when it is opened
//	err := s.lifecycle.Usable(ctx)                             // before each call
//	err := s.lifecycle.Writable(ctx)                           // before each write
//	s.lifecycle.Poison(err)                                    // if it is not known what is stored
//	if !s.lifecycle.Close() {                                  // the second Close
//		return nil
//	}
//
// A store goes one way only: open, then poisoned or not, then closed. A poisoned store
// serves reads until it is closed. The caveat: a check before a call does not keep the
// store open during it. Close waits for calls in progress by other means.
package lifecycle
