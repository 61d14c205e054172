// Package topology holds the nodes of a compiled graph without their code. It works
// out where a completed step leads, what may be sent where, and what of a checkpoint
// the graph cannot run.
//
// It calls nothing of the user's.
package topology

import (
	"reflect"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
)

// Start and End are the places before the first and after the last node.
const (
	Start = "$start"
	End   = "$end"
)

// A Graph is the nodes of a compiled graph. It does not change.
type Graph struct {
	Title   string // of the graph
	Codec   posthouse.Codec
	Schema  *state.Schema
	Nodes   map[string]*Node
	Order   []*Node // as they were added
	Start   []*Transition
	Aliases map[string]string            // names of inlined places, and the nodes that they lead to
	To      map[string][]frontier.Target // what runs next after a name; nothing after End
	Unmet   func(*UnmetJoin) error       // the error of a join that keeps a run from ending
}

// A Node is a node of a compiled graph.
type Node struct {
	Name  string
	Index int               // in Graph.Order
	Input reflect.Type      // of a task: what it is sent
	Defer bool              // it runs when nothing else is left to run
	Self  []frontier.Target // it alone, as what runs next
	Alone []string          // its name, as the only one that runs next
	Joins []*Join           // that it arrives at
	Join  *Join             // that leads to it

	Transitions []*Transition
	Targets     []string // where its commands may lead; empty: anywhere
	Decides     bool     // its command says where it leads
	Handled     bool     // it has an error handler, which may lead where its commands do
	Remote      string   // the name of the handler that does it elsewhere
	Sub         string   // of a subgraph: what of it is in the fingerprint
	Subgraph    *Subgraph

	Before, After bool // runs stop before it, or after it
	Edges         bool // after it, before its transitions are followed
}

// Leads reports whether commands of a node say where it leads. It needs no edges then.
func (n *Node) Leads() bool { return n.Decides || n.Sub != "" && len(n.Targets) > 0 }

// A Subgraph is the graph that a node calls, and where that is kept.
type Subgraph struct {
	*Graph
	OwnThread, Kept, PerThread bool
}

// Stops reports whether the graph has a static interrupt. It includes subgraphs at any
// depth, except those with threads of their own.
func (a *Graph) Stops() bool {
	return slices.ContainsFunc(a.Order, func(n *Node) bool {
		return n.Before || n.After || n.Subgraph != nil && !n.Subgraph.OwnThread && n.Subgraph.Stops()
	})
}

// A Transition leads on from a node, or from Start.
type Transition struct {
	From string
	To   []string // where an edge leads, or where another may lead; empty: anywhere
	Kind Kind
}

// A Kind says what decides where a transition leads.
type Kind string

// The kinds of transition.
const (
	Edge   Kind = "edge"
	Route  Kind = "route"
	Routes Kind = "routes"
	Map    Kind = "map"
)

// A Join leads to a node once all of its sources have completed.
type Join struct {
	To   string
	From []string
}

// Add adds a node after the others.
func (a *Graph) Add(n *Node) {
	n.Index, n.Self, n.Alone = len(a.Order), []frontier.Target{{Node: n.Name, At: len(a.Order) + 1}}, []string{n.Name}
	a.Nodes[n.Name] = n
	a.Order = append(a.Order, n)
	a.To[n.Name] = n.Self
}

// Node returns the node of a target, nil if the graph does not have it.
func (a *Graph) Node(t *frontier.Target) *Node {
	if t.At > 0 {
		return a.Order[t.At-1]
	}
	return a.Nodes[t.Node]
}

// Real returns the node that a name leads to.
func (a *Graph) Real(name string) string {
	if to, ok := a.Aliases[name]; ok {
		return to
	}
	return name
}

// Set returns which nodes an option names, nil if it is empty.
func (a *Graph) Set(field string, names []string, real func(string) string) ([]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	all := make([]bool, len(a.Order))
	for _, name := range names {
		switch n := a.Nodes[real(name)]; {
		case name == "*":
			for i := range all {
				all[i] = true
			}
		case n == nil:
			return nil, posthouse.Invalid(field, "names %q, which is not a node of graph %q", name, a.Title)
		default:
			all[n.Index] = true
		}
	}
	return all, nil
}

// CycleTo returns the names of a node and of those that ran since it last did, in order.
// lastRan is the step in which each node last ran, counted from 1. It is nil for a node
// that has not run.
func (g *Graph) CycleTo(n *Node, lastRan []int) []string {
	first := lastRan[n.Index]
	if first == 0 {
		return nil
	}
	in := slices.DeleteFunc(slices.Clone(g.Order), func(m *Node) bool { return lastRan[m.Index] < first })
	slices.SortFunc(in, func(x, y *Node) int { return lastRan[x.Index] - lastRan[y.Index] })
	return frontier.MapNames(in, func(n *Node) string { return n.Name })
}
