// Package task has the nouns that workers and engines share.
//
// An engine is a process that has the ledger and the programs. A program hands work out with
// [step.Remote]; the engine opens a task for it. A worker is a process that has handlers, and
// claims tasks from an [Engine]:
//
//	claim, err := engine.Claim(ctx, session)   // nil: nothing came
//	...                                         // the handler runs
//	err = engine.Resolve(ctx, claim.ID, task.Verdict{Action: task.Complete, Output: out})
//
// A worker knows nothing but this interface: no store, no key, no state of a program. NATS
// and HTTP carry it between hosts. Package worker runs handlers over it; package dispatch
// is the engine's side.
//
// A claim has a fence. When a worker stops sending heartbeats, its claims are given to
// others under higher fences, and nothing that it still does counts: its slot writes and its
// verdict are refused with [posthouse.ErrConflict].
package task
