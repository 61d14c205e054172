// Package httptask carries tasks over HTTP, for workers that reach a server and no NATS.
//
//	engine, err := httptask.NewEngine("https://posthouse.example", token, nil)
//	w, err := worker.New(engine, nil)
//
// The server's side is POST /api/worker/{call} of package server. The token's role is worker,
// which may do nothing else. A claim waits at the server for about 30 seconds, so a proxy in
// between must allow for a minute.
package httptask
