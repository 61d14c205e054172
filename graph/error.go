package graph

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/graph/internal/upgrade"
)

// Problems lists everything that keeps a graph from being compiled. It matches
// [posthouse.ErrInvalid].
type Problems struct {
	Graph string
	List  []string // one sentence each
}

// Error lists them.
func (p *Problems) Error() string {
	if len(p.List) == 1 {
		return fmt.Sprintf("posthouse: graph %q cannot run: %s", p.Graph, p.List[0])
	}
	return fmt.Sprintf("posthouse: graph %q cannot run, it has %d problems:\n- %s", p.Graph, len(p.List), strings.Join(p.List, "\n- "))
}

// Is matches [posthouse.ErrInvalid].
func (p *Problems) Is(target error) bool { return target == posthouse.ErrInvalid }

// A NodeError is the failure of a node. If several failed in one step it names all, as
// in "fetch+parse", and Unwrap leads to each. The thread has a checkpoint of status
// failed with the state from before the node; resuming runs the node again. Unwrap
// returns what the node returned, or a panic as an error.
type NodeError struct {
	Graph, Thread, Branch, Node string
	Checkpoint                  posthouse.ID // the failed one; "" if it could not be committed
	Err                         error
}

// Error names the node, the thread and the cause.
func (e *NodeError) Error() string {
	return fmt.Sprintf("posthouse: node %q of graph %q failed in thread %q: %v", e.Node, e.Graph, e.Thread, e.Err)
}

// Unwrap returns the cause.
func (e *NodeError) Unwrap() error { return e.Err }

// A RecursionError ends a run that reached its limit of steps. The thread has a
// checkpoint of status failed. Resuming it gives it as many steps again.
type RecursionError struct {
	Graph, Thread string
	Limit         int
	Next          string   // the node that did not run
	Cycle         []string // nodes since Next last ran, in order; empty if it had not run
}

// Error names the limit, the cycle and what to do.
func (e *RecursionError) Error() string {
	at := fmt.Sprintf("before node %q", e.Next)
	if len(e.Cycle) > 0 {
		at = fmt.Sprintf("in the cycle %s -> %s", strings.Join(e.Cycle, " -> "), e.Cycle[0])
	}
	return fmt.Sprintf("posthouse: graph %q reached its limit of %d steps in one run of thread %q %s "+
		"(give the cycle a way out, or raise RecursionLimit; resuming goes on)", e.Graph, e.Limit, e.Thread, at)
}

// A JoinError says that nothing is left to run while a join still waits for nodes that
// did not complete. It matches [posthouse.ErrInvalid]. Its fields are the Graph, the
// Node of the join, the sources that completed (Arrived) and the others (Missing).
type JoinError = topology.JoinError

// A MergeError says that tasks of one step left values in a part that its rule does not
// merge. It matches [posthouse.ErrConflict]. Its fields are the Graph, the Part, the Key
// of a map with the rule merge, the Nodes that disagree, as in "draft" or, for a task
// that was sent an input, "fetch#2", and as Err what a merge function returned.
type MergeError = state.MergeError

// A ChangedError says that this version of a graph cannot go on with a thread that
// another one left. The thread is untouched: run it with the version that left it,
// register a [Migration], or move it by [App.Update] with Goto. It matches
// [posthouse.ErrInvalid] and [posthouse.ErrOtherVersion]. Its fields are the Graph, the Thread, Branch and Checkpoint,
// the fingerprints of the checkpoint (From) and of this graph (To), whether it was
// Migrated, and all Mismatches.
type ChangedError = upgrade.ChangedError

// A MismatchKind says what of a checkpoint does not fit the graph.
type MismatchKind = migrate.Kind

// The kinds of mismatch.
const (
	MismatchNode      = migrate.MismatchNode      // a node that is to run is gone, or does not run without an input any more
	MismatchPart      = migrate.MismatchPart      // a part of the state does not decode into its field
	MismatchInput     = migrate.MismatchInput     // what a task was sent does not decode into its input type, or has keys that the type lacks
	MismatchJoin      = migrate.MismatchJoin      // a join, or a source that arrived at it, is gone; or nothing is left that it waits for
	MismatchResult    = migrate.MismatchResult    // a recorded result of a task writes what does not decode, or leads to a node that is gone
	MismatchSubgraph  = migrate.MismatchSubgraph  // a call of a subgraph has begun, and it is a plain node now or is kept elsewhere
	MismatchMigration = migrate.MismatchMigration // a migration failed
)

// A Mismatch is one thing that does not fit. It matches [posthouse.ErrInvalid]. Its
// fields:
//
//	Kind MismatchKind
//	Name string // of the node or part; in a subgraph its path, as in "research/plan"
//	Text string // a sentence
//	Err  error  // the cause; may be nil
type Mismatch = migrate.Mismatch
