// Command posthouse of a release is cmd/posthouse with OpenTelemetry and OpenID Connect: see its comment for what all
// commands have in common, package otel for what is exported, and
// package oidc for how people log in.
//
// It is a module of its own, so that nobody who imports posthouse downloads what only the binary
// of a release links.
package main
