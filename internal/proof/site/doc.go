// Package site has a place for stores of each kind: a directory, or a private server.
//
//	s, err := site.Find("postgres").Start(dir) // a directory of its own
//	defer s.Close()
//	store, err := site.Open(ctx, s.URL("desk_1", ""), time.Second)
//	err = s.Restart() // SIGKILL, and again
//
// Postgres and Redis are started from the binaries that are installed. A NATS server is
// this binary once more, so its main function begins with [Serving]. The service of buckets
// runs in this process. A [Proxy] lies between a client and a server, and cuts and delays
// what goes through it.
//
// It is for tests and their commands.
package site
