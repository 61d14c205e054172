// Package sessions keeps the sessions of workers that talk to an engine.
//
//	all := sessions.New(core, logger)
//	s, err := all.Begin(ctx, hello)         // a worker connects
//	s, err := all.FindFor(ctx, id)          // the session of a call, also one from another engine
//	waiting, leave := s.RegisterWaiter(ctx) // a call that waits for a task
//	probes, err := all.Renew(ctx, s)        // a heartbeat came
//
// Each session has a slot in the store, its liveness, which changes with each heartbeat. It says
// what another engine needs to take the session over, because a worker may send any call to any
// engine. An engine that sees another revision there than its own knows that the worker's
// heartbeats go elsewhere now. A session ends when its liveness is deleted.
//
// A session belongs to the pass that its worker came with, and only calls with that pass, or of
// this process, may use it. The sessions of a pass, and the tasks that they name, are bounded.
//
// [Sessions] and [Session] are safe for concurrent use. One lock guards all sessions of an engine;
// [Sessions.While] calls out while it is held.
package sessions
