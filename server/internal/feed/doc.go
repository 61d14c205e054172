// Package feed keeps what an agent tells while it works on a request, for clients
// that listen, fall behind, or come back.
//
//	f := feed.New(run)
//	f.Text("the first line")
//	f.Send("reply", reply, size) // the last frame
//	l := f.Listen(0)
//	there := l.Pump(ctx, tick, write, heartbeat)
//
// A client that is slow or gone never holds up the work: what it cannot get any
// more is a [Gap] that says how many frames it missed.
//
// The package imports the standard library only.
package feed
