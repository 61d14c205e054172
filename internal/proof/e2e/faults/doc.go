// Package faults holds tests of stores whose disk or network is slow, full or failing: every
// kind, with its real server, on a disk that is mounted with FUSE or behind a proxy.
//
// What uses the store is in a process of its own, since a process must not work on a disk that it
// serves. It holds tests only.
package faults
