// Package host opens a server: the store, the Ledger with its keys, the programs with
// their runner, and the HTTP API.
//
//	h, err := host.Open(ctx, &host.Options{Dir: dir, Addr: "127.0.0.1:8095", Programs: open})
//	err = h.Run(ctx) // until ctx ends, then closes in order
//
// It is the wiring under app.Serve and the commands serve and dev.
package host
