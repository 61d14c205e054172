// Package clitest runs command lines in tests: over a data directory, as a script or as a person
// at a terminal, and against servers in this process.
//
//	d := clitest.New(t)
//	err := d.Serve([]string{"--encrypt"}, func(h *host.Host) { ... }) // without clients
//	h, _ := d.Live(io.Discard, "--ephemeral")  // with them
//	out := d.Run(0, "inbox", "--server", h.URL)
//
//	desk := clitest.OpenDesk(t, memstore.New()) // a server with a graph that asks and pays
//	desk.Run(0, "approve", string(desk.Ask("t", "acme")))
//
// Tests of the packages of commands import it from packages with the suffix _test, since it
// imports all of them.
package clitest
