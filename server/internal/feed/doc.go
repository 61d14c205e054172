// Package feed keeps what an agent sends while it works on a request. Clients may
// listen, lag, or come back.
//
//	f := feed.New(run)
//	f.Text("the first line")
//	f.Send("reply", reply, size) // the last frame
//	l := f.Listen(0)
//	there := l.Pump(ctx, tick, write, heartbeat)
//
// A client that is slow or gone never delays the work. In the place of frames that
// are not kept any more it gets a [Gap] with their number.
package feed
