// Package faults holds tests of stores with a slow, full or failing disk or network: every
// kind, with its real server, on a disk that is mounted with FUSE or through a proxy.
//
// The user of the store is a process of its own, since a process must not work on a disk that it
// serves. It holds tests only.
package faults
