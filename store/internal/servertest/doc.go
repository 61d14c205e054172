// Package servertest tests what all stores on a server promise of it. It is for tests only.
//
//	counts := servertest.Interrupt(t, s, 4, 50, 10, kill) // a server that dies under load
//	servertest.WantWritten(t, s, counts)                  // and what it must have then
//
//	server.Kill()
//	servertest.Gone(t, s, next)                           // a server that is away
//	server.Restart(t)
//	servertest.Back(t, s, next)
//
//	p := servertest.StartProxy(t, addr, 40)               // answers that are lost on the way
//	servertest.LoseAnswers(t, s, p, 4, 30)
//
//	servertest.Drop(t, "gone", "kept", open)              // a store that is dropped, and its neighbour
//
// Take, Entries and WantSound write and read logs of any store; Seconds, Median and Report
// are for benchmarks beside a baseline.
package servertest
