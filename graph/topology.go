package graph

import (
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
)

// A topology is the nodes of a compiled graph and where they lead. It does not
// change.
type topology[S any] struct {
	name    string // of the graph
	codec   posthouse.Codec
	nodes   map[string]*node[S]
	order   []*node[S] // as they were added
	start   []*transition[S]
	aliases map[string]string            // names of inlined places, and the nodes that they lead to
	to      map[string][]frontier.Target // what leading to a name makes run; End's is nothing
}

// node returns the node of a target, nil if the graph has none of the name.
func (a *topology[S]) node(t *frontier.Target) *node[S] {
	if t.At > 0 {
		return a.order[t.At-1]
	}
	return a.nodes[t.Node]
}

// real returns the node that a name leads to.
func (a *topology[S]) real(name string) string {
	if to, ok := a.aliases[name]; ok {
		return to
	}
	return name
}

// hasBreakpoints reports whether there is a static interrupt in the graph, at any
// depth.
func (a *topology[S]) hasBreakpoints() bool {
	return slices.ContainsFunc(a.order, func(n *node[S]) bool { return n.before || n.after || n.sub != nil && n.sub.hasBreakpoints() })
}
