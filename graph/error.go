package graph

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/topology"
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
// did not complete. It matches [posthouse.ErrInvalid].
type JoinError struct {
	Graph, Node      string
	Arrived, Missing []string // of the join's sources
}

// Error names the join and what to do.
func (e *JoinError) Error() string {
	return fmt.Sprintf("posthouse: graph %q has nothing left to run, but node %q joins %s and %s did not run "+
		"(where a branch may be left out, lead to the node by edges and set NodeOptions.Defer)",
		e.Graph, e.Node, strings.Join(e.Arrived, ", "), strings.Join(e.Missing, ", "))
}

// Is matches [posthouse.ErrInvalid].
func (e *JoinError) Is(target error) bool { return target == posthouse.ErrInvalid }

func joinError(j *topology.UnmetJoin) error { return (*JoinError)(j) }

// A MergeError says that tasks of one step left values in a part that its rule does not
// merge. It matches [posthouse.ErrConflict]. Unwrap returns what a merge function returned.
type MergeError struct {
	Graph, Part string
	Key         string   // of a map with the rule merge; otherwise ""
	Nodes       []string // those that disagree, as in "draft" or, for a task that was sent an input, "fetch#2"
	Err         error    // what a merge function returned; nil if two values differ
}

// Error names the tasks and what to do.
func (e *MergeError) Error() string {
	what := "part " + e.Part
	if e.Key != "" {
		what = "key " + e.Key + " of " + what
	}
	if e.Err != nil {
		return fmt.Sprintf("posthouse: %s of graph %q cannot be merged from %s: %v", what, e.Graph, strings.Join(e.Nodes, ", "), e.Err)
	}
	return fmt.Sprintf("posthouse: %s were run in one step of graph %q and gave %s different values "+
		"(give the part a merge rule, or let one of them write it)", strings.Join(e.Nodes, " and "), e.Graph, what)
}

// Is matches [posthouse.ErrConflict].
func (e *MergeError) Is(target error) bool { return target == posthouse.ErrConflict }

// Unwrap returns what a merge function returned.
func (e *MergeError) Unwrap() error { return e.Err }

func mergeError(c *state.Conflict) error { return (*MergeError)(c) }
