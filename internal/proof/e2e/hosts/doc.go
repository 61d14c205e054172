// Package hosts holds tests of several hosts: an engine and two workers in network namespaces,
// over real sockets with TLS; one worker is cut off in the middle of a task; and the script of
// docs/operations.md for more than one machine.
//
// It holds tests only, for Linux, the first with leave to make network namespaces.
package hosts
