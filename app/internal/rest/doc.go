// Package rest is the little of an HTTP client that the command line needs:
// JSON in and out, server-sent events, and problem documents read back as the
// errors they were.
//
// It imports the root package and the standard library.
package rest
