// Package trial cuts processes off from a shared store for longer than their leases, again
// and again, and looks whether anything that is on record runs twice.
//
//	line, err := trial.Run(ctx, &trial.Config{Kind: site.Find("postgres"), Stalls: 1000, Seed: 7, Now: time.Now})
//
// Each case is one thread of a flow, graph or coordinator: a step, an effect that a person has
// approved, and two more steps. One process runs it through a proxy, which stalls while one of
// them runs. Another process, with a connection of its own, takes the thread over once the
// lease is free, and ends it. Then the proxy lets go what it held. A witness outside of the
// store counts what was executed, by whom.
//
// Over SQLite, which one process has open, [RunFrozen] stops a process for longer than its lease,
// as a frozen container does, while another one asks for the store.
//
// It is for a test and the command stalls.
package trial
