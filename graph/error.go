package graph

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
)

// Problems is everything that keeps a graph from being compiled. It matches
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

// A NodeError is the failure of a node. The thread has a checkpoint of status
// failed with the state from before the node; resuming runs the node again.
// Unwrap returns what the node returned, or a panic as an error.
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

// A RecursionError ends a run that reached its limit of nodes. The thread has
// a checkpoint of status failed; resuming it gives it as many nodes again.
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
	return fmt.Sprintf("posthouse: graph %q reached its limit of %d nodes in one run of thread %q %s "+
		"(give the cycle a way out, or raise RecursionLimit; resuming goes on)", e.Graph, e.Limit, e.Thread, at)
}

func invalid(field, format string, args ...any) *posthouse.Error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// one returns the only element of optional options.
func one[T any](opts []T) (o T, err error) {
	switch len(opts) {
	case 0:
		return o, nil
	case 1:
		return opts[0], nil
	}
	return o, invalid("options", "are given %d times; give them once", len(opts))
}
