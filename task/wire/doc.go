// Package wire carries the calls of a [task.Engine] as JSON, whatever transports them.
//
//	wire.Serve(ctx, engine, method, body).Encode()        // at the engine
//	engine := wire.NewClient(func(ctx, method, body) ...) // at the worker
//
// A request is an object with the call's arguments, read strictly. A reply has either a
// result or an error, which is a [posthouse.Error] with its code, so that both sides mean the
// same. A transport adds addresses and nothing else.
package wire
