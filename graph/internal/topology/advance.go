package topology

import (
	"fmt"
	"slices"

	"github.com/posthouse/posthouse/graph/internal/frontier"
)

// NextNames returns the nodes of the tasks, each once.
func (a *Graph) NextNames(g *frontier.Frontier) []string {
	if len(g.Tasks) == 1 {
		if n := a.Node(&g.Tasks[0]); n != nil {
			return n.Alone
		}
	}
	return g.Nodes()
}

// A Completion is a task that completed, and where it leads.
type Completion struct {
	Of   *frontier.Target // nil for an input
	Next []frontier.Target
}

// TaskCompletion is the completion of a node. If the run stops after the node, it arrives
// at joins later, when its transitions are followed.
func TaskCompletion(t *frontier.Target, next []frontier.Target) Completion {
	if len(next) == 1 && next[0].Edges {
		return Completion{Next: next}
	}
	return Completion{t, next}
}

// completer returns the node that completed, nil for an input.
func (a *Graph) completer(c *Completion) *Node {
	if c.Of == nil {
		return nil
	}
	return a.Node(c.Of)
}

// AdvanceFrontier makes n the frontier after a step of g that completed what done lists,
// in order.
func (a *Graph) AdvanceFrontier(g, n *frontier.Frontier, done []Completion) error {
	*n = frontier.Frontier{}
	n.Call, n.Step, n.Skipped, n.Epoch = g.Call, g.Step+1, g.Skipped, g.Epoch
	n.Renamed, n.Names = g.Renamed, g.Names
	if len(done) == 1 && len(g.Arrived)+len(g.Deferred) == 0 && a.leadsStraightOn(&done[0]) {
		n.Tasks = done[0].Next
		return nil
	}
	n.Deferred = slices.Clone(g.Deferred)
	n.Arrived = make(map[string][]string, len(g.Arrived))
	for to, from := range g.Arrived {
		n.Arrived[to] = slices.Clone(from)
	}
	seen := map[string]bool{}
	for i := range done {
		for _, t := range done[i].Next {
			switch {
			case t.Edges && slices.ContainsFunc(n.Tasks, func(o frontier.Target) bool { return o.Edges && o.Node == t.Node }):
			case t.Edges || t.Input != nil:
				n.Tasks = append(n.Tasks, t)
			case t.Key != "":
				a.addBegun(n, seen, t)
			default:
				a.addNode(n, seen, t.Node)
			}
		}
		a.arriveAtJoins(n, seen, a.completer(&done[i]))
	}
	if len(n.Tasks) == 0 {
		for _, name := range n.Deferred {
			n.Tasks = append(n.Tasks, frontier.Target{Node: name})
		}
		n.Deferred = nil
	}
	if len(n.Tasks) > 0 || len(n.Arrived) == 0 {
		return nil
	}
	return a.unmetJoin(n)
}

// leadsStraightOn reports whether a completion leads only to nodes that run next.
func (a *Graph) leadsStraightOn(c *Completion) bool {
	if n := a.completer(c); n != nil && len(n.Joins) > 0 {
		return false
	}
	return len(c.Next) == 0 || len(c.Next) == 1 && (c.Next[0].Input != nil || c.Next[0].Edges || !a.Node(&c.Next[0]).Defer)
}

// addBegun adds a task that is in the middle of its execution, in place of one of the same
// node that would begin.
func (a *Graph) addBegun(g *frontier.Frontier, seen map[string]bool, t frontier.Target) {
	i := slices.IndexFunc(g.Tasks, func(o frontier.Target) bool { return o.Node == t.Node && o.Input == nil && !o.Edges })
	seen[t.Node] = true
	if i >= 0 {
		g.Tasks[i] = t
		return
	}
	g.Tasks = append(g.Tasks, t)
}

func (a *Graph) addNode(g *frontier.Frontier, seen map[string]bool, name string) {
	switch {
	case a.Nodes[name].Defer:
		if !slices.Contains(g.Deferred, name) {
			g.Deferred = append(g.Deferred, name)
		}
	case !seen[name]:
		seen[name] = true
		g.Tasks = append(g.Tasks, frontier.Target{Node: name})
	}
}

// arriveAtJoins counts a completed node at the joins it is a source of.
func (a *Graph) arriveAtJoins(g *frontier.Frontier, seen map[string]bool, n *Node) {
	if n == nil {
		return
	}
	for _, j := range n.Joins {
		from := g.Arrived[j.To]
		if !slices.Contains(from, n.Name) {
			from = append(from, n.Name)
		}
		if len(from) < len(j.From) {
			g.Arrived[j.To] = from
			continue
		}
		delete(g.Arrived, j.To)
		a.addNode(g, seen, j.To)
	}
}

// unmetJoin returns the error for a join that keeps a run from ending.
func (a *Graph) unmetJoin(g *frontier.Frontier) error {
	for _, n := range a.Order {
		if from := g.Arrived[n.Name]; len(from) > 0 {
			missing := slices.DeleteFunc(slices.Clone(n.Join.From), func(s string) bool { return slices.Contains(from, s) })
			return a.Unmet(&UnmetJoin{Graph: a.Title, Node: n.Name, Arrived: from, Missing: missing})
		}
	}
	return fmt.Errorf("graph: arrivals at unknown joins: %v", g.Arrived)
}

// An UnmetJoin is a join that keeps a run from ending.
type UnmetJoin struct {
	Graph, Node      string
	Arrived, Missing []string // of the join's sources
}
