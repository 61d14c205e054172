// Package client is the HTTP API of a Posthouse server for Go programs. The command line uses it.
//
//	c, err := client.New("https://posthouse.example.com", &client.Options{Token: token})
//	run, err := c.Start(ctx, "refund", Refund{Request: "order 1234"}, nil)
//	t, err := c.Wait(ctx, run.Thread) // until it asks, or is over
//	for g, err := range c.Gates(ctx, &client.GateQuery{Thread: run.Thread, Everyone: true}) {
//		_, err = c.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, Shown: g.Hash})
//	}
//	for e, err := range c.Events(ctx, &client.EventQuery{Thread: run.Thread, Modes: []string{"updates"}}) {
//		...
//	}
//
// It imports neither a store nor a model.
//
// A refusal of the server is a [posthouse.Error] with the same code, field and hint as in the server, so
// errors.Is works with [posthouse.ErrDecided], [posthouse.ErrNotFound] and the others. Where no server
// answers it is [posthouse.ErrClosed].
//
// A request that failed on the way is sent again, a POST with the same Idempotency-Key: the server takes
// it once. After that the outcome is unknown only where each attempt got lost.
//
// Values on record (payloads, states, inputs, results) have the bytes that are on record. So an account
// 9007199254740993 stays what it is.
//
// Paths without a method here are asked by [Client.Do], lists of them by [List].
package client
