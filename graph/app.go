package graph

import "github.com/posthouse/posthouse"

// An App is a compiled graph on a Ledger. It is safe for concurrent use, and keeps
// nothing of a thread in memory between calls. Where a method takes the name of a
// thread, "" is [posthouse.DefaultThread].
type App[S any] struct {
	_    [0]*S // Apps of two types do not convert
	core *core
}

// Name returns the graph's name, by which threads name their program.
func (a *App[S]) Name() string { return a.core.name }

// Fingerprint returns a short hash of the graph's shape: node names, edges,
// routes and state parts. It is in every checkpoint the App makes.
func (a *App[S]) Fingerprint() string { return a.core.fingerprint }

// A Result is where a run parked or ended.
type Result[S any] struct {
	State      S
	Thread     string
	Branch     string
	Run        string
	Checkpoint posthouse.ID       // the branch's head
	Status     posthouse.Status   // done, waiting, interrupted, cancelled; running if it was asked to drain
	Next       []string           // nodes that run when it is resumed
	Waiting    []posthouse.Gate   // the branch's open gates, if Status is waiting
	Note       string             // which question was open when a node returned, and that what it changed is dropped; otherwise ""
	Release    *posthouse.Release // the release that the run ended with, see [AutoRelease]; otherwise nil
}

// A Snapshot is a checkpoint with its state.
type Snapshot[S any] struct {
	posthouse.Header
	State    S
	Metadata map[string]string
}
