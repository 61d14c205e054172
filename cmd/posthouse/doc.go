// Command posthouse runs and operates durable agent workflows, on one machine or several:
// a server with a bundled sample, the approvals of people, and a log that can
// be proved.
//
//	posthouse dev                                       a server with a sample to try
//	posthouse send dispatch "please refund order 1234"  a request
//	posthouse inbox                                     what waits for a decision
//	posthouse approve GATE --reason "within the limit"
//	posthouse log THREAD                                what happened
//	posthouse verify                                    prove it, offline
//	posthouse init refunds                              a module of your own
//
// Commands talk to a server over HTTP (--server, POSTHOUSE_SERVER) with a token
// from a file (--token-file, POSTHOUSE_TOKEN_FILE, by default that of the data
// directory) or from POSTHOUSE_TOKEN; never from the command line, where other
// users could read it. verify, compact, backup and key work on the data
// directory without a server; bench needs nothing.
//
// Every flag has an environment variable, POSTHOUSE_ and the flag's name in
// capitals. --json turns every answer into JSON on standard output. Errors go
// to standard error and say what to do next; exit codes are those of
// docs/errors.md.
package main
