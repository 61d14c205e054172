// Package hosts holds a test of three hosts: an engine and two workers in network namespaces,
// over real sockets with TLS, one of which is cut off in the middle of a task.
//
// It holds tests only, for Linux with leave to make network namespaces, and may import
// everything.
package hosts
