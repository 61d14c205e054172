// Command posthouse of a release is cmd/posthouse with OpenTelemetry: see its comment for what all
// commands have in common, and package otel for what is exported, and when.
//
// It is a module of its own, so that nobody who imports posthouse downloads what only the binary
// of a release links.
package main
