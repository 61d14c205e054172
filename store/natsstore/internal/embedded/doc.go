// Package embedded runs a NATS server in this process. The server listens on nothing, and keeps
// its files in a directory that no other process may use at the same time.
//
// After a failed write, a stream of such a server takes no more writes and does not answer them
// until the server is started again. So a [Server] listens to what the server logs about its disk,
// and each run of it is a [Life], which says why there are no writes and which streams failed.
// A Server also refuses files that would have the server count for hours ([Leaps]), and sweeps up
// streams that a power cut left half made.
package embedded
