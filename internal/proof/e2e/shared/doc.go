// Package shared holds tests of several processes on one store: a process that serves
// HTTP and two that run programs, over Postgres, Redis and NATS. Processes are killed, frozen
// and cut off from the store while they run a step, and the store's server stops.
//
// It holds tests only, for systems that can stop a process.
package shared
