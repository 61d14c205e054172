// Package stalling has a store with a connection that stalls, and comes back. Tests of
// leases use it to see what a process does that was cut off for longer than its lease:
//
//	s := stalling.New(store)
//	s.Cut()  // from here on nothing is answered
//	s.Heal() // what waited is answered: slots first, appends last
//
// An append that was sent is made, and its answer is held. A slot's write is held itself,
// as one that a proxy keeps in its buffer. So a renewal of liveness is made and answered
// before the append's answer arrives, which is what is hard to notice.
package stalling
