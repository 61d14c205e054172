// Package natslink opens links for workers and engines over NATS: to servers elsewhere, or
// with a server in this process.
//
//	l, err := natslink.Open(ctx, &link.Options{URL: "tls://nats-1:4222,tls://nats-2:4222", Credentials: "worker.creds"})
//	engine, err := l.Engine()
//	w, err := worker.New(engine, nil)
//
// Its Open is what package app takes as Programs.OpenLink.
//
// # Servers elsewhere
//
// A URL is nats://host:4222 or tls://host:4222, several with commas between, with a user and
// password or a token before the @ where the server asks for them. ?prefix=NAME is that of
// the subjects, on both sides. Those servers decide what users may do. Worker w needs to publish to
// posthouse.task.w.*.* and to subscribe to posthouse.answer.w.>; engines the reverse for all names, and both of
// posthouse.chunk, where they pass on what handlers stream. Where the servers have JetStream, engines share a queue of
// hints and keep dead letters there: package natshint says what an engine may do for that. Workers need no JetStream.
//
// # A server in this process
//
// It carries tasks and nothing else: no JetStream, no monitoring, no cluster. Its one engine
// needs no queue, and keeps dead letters in memory. A worker shows
// a token that Options.Allow knows. It may publish requests under a name that is made of
// its token, and read the answers of that name; so it can neither answer for an engine nor read what another
// worker is told. When its token is good no more, it is disconnected within seconds.
//
// A store in package natsstore has another server in its process: no worker reaches that one.
package natslink
