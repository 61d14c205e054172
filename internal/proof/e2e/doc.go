// Package e2e walks through the product as its users do: with the built
// binary, over HTTP, WebSocket and the command line, across SIGKILL.
//
// It holds tests only.
package e2e
