package graph

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/progress"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Shape is a graph as data, from which pictures are drawn. Its lists are in the order
// in which things were added. Its fields:
//
//	Name, Fingerprint string
//	Nodes             []NodeShape
//	Edges             []EdgeShape
//	Parts             []PartShape
type Shape = topology.Shape

// A NodeShape is a node of a [Shape]. Its fields:
//
//	Name            string
//	Kind            string // "node", "command", "task", "remote" or "subgraph"
//	Input           string // of a task: the Go type it is sent
//	Remote          string // of a remote node: its task, which is the name of the handler
//	Defer           bool
//	InterruptBefore bool
//	InterruptAfter  bool
//	Sub             *Shape // of a subgraph
type NodeShape = topology.NodeShape

// An EdgeShape is one transition of a [Shape]. Its fields:
//
//	From string
//	To   string // "" of a route, map or command that may lead anywhere
//	Kind string // "edge", "route", "routes", "map", "join", "command" or "error"
type EdgeShape = topology.EdgeShape

// A PartShape is a part of the state of a [Shape]. Its fields:
//
//	Name, Field, Type string // the part, the Go field and its Go type
//	Merge             string // how parallel writes merge: "append" or a rule's name
type PartShape = topology.PartShape

// Shape returns the graph as data.
func (a *App[S]) Shape() *Shape { return a.core.Graph.Shape() }

// ProgressOptions name the thread of [App.Progress]. Thread or Checkpoint is required.
type ProgressOptions struct {
	Thread     string       // default the thread of Checkpoint
	Branch     string       // default main
	Checkpoint posthouse.ID // read the progress as of this checkpoint; default the branch's head
}

// Progress is how far a thread is in its graph, as marks by the paths of nodes. A path
// consists of escaped names ([posthouse.EscapeName]) joined by slashes, as in
// "research/write". A node without a mark has not run since the newest input.
type Progress map[string]Mark

// A Mark says how far a thread is at a node.
type Mark = progress.Mark

// The marks. Done counts from the thread's newest input.
const (
	MarkNone    = progress.None
	MarkDone    = progress.Done
	MarkNext    = progress.Next
	MarkWaiting = progress.Waiting
	MarkFailed  = progress.Failed
)

// Progress returns how far a thread is in the graph. It includes nodes of subgraphs,
// and tasks of an unfinished step that completed. [posthouse.ErrNotFound] for an
// unknown thread or checkpoint, [posthouse.ErrInvalid] for those of another program.
func (a *App[S]) Progress(ctx context.Context, o ProgressOptions) (Progress, error) {
	return a.core.progressOf(ctx, &o)
}

func (a *core) progressOf(ctx context.Context, o *ProgressOptions) (Progress, error) {
	var c *posthouse.Checkpoint
	var err error
	if o.Checkpoint != "" && o.Thread == "" {
		c, err = a.ledger.Get(ctx, o.Checkpoint)
	} else {
		c, err = engine.StateOf(ctx, a.ledger, o.Thread, engine.StateOptions{Branch: o.Branch, Checkpoint: o.Checkpoint})
	}
	if err == nil {
		err = a.front.Owns(&c.Header)
	}
	if err != nil {
		return nil, err
	}
	return progress.Of(ctx, a.ledger, c, a.migrationsFrom(c.Fingerprint))
}
