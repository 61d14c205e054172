package graph

import (
	"fmt"
	"slices"

	"github.com/posthouse/posthouse/graph/internal/frontier"
)

// nextNames returns the nodes of the tasks, each once.
func (a *topology[S]) nextNames(g *frontier.Frontier) []string {
	if len(g.Tasks) == 1 {
		if n := a.node(&g.Tasks[0]); n != nil {
			return n.alone
		}
	}
	return g.Nodes()
}

// A completion is a task that completed, and where it leads.
type completion struct {
	of   *frontier.Target // nil for an input
	next []frontier.Target
}

// inputCompletion is the completion of an input.
func inputCompletion(next []frontier.Target) completion { return completion{next: next} }

// taskCompletion is the completion of a node. One that the run stops behind arrives
// at joins later, when its transitions are followed.
func taskCompletion(t *frontier.Target, next []frontier.Target) completion {
	if len(next) == 1 && next[0].Edges {
		return inputCompletion(next)
	}
	return completion{t, next}
}

// completer returns the node that completed, nil for an input.
func (a *topology[S]) completer(c *completion) *node[S] {
	if c.of == nil {
		return nil
	}
	return a.node(c.of)
}

// advanceFrontier makes n the frontier behind a step of g in which these completed, in
// order.
func (a *topology[S]) advanceFrontier(g, n *frontier.Frontier, done []completion) error {
	*n = frontier.Frontier{}
	n.Call, n.Step, n.Skipped, n.Epoch = g.Call, g.Step+1, g.Skipped, g.Epoch
	n.Renamed, n.Names = g.Renamed, g.Names
	if len(done) == 1 && len(g.Arrived)+len(g.Deferred) == 0 && a.leadsStraightOn(&done[0]) {
		n.Tasks = done[0].next
		return nil
	}
	n.Deferred = slices.Clone(g.Deferred)
	n.Arrived = make(map[string][]string, len(g.Arrived))
	for to, from := range g.Arrived {
		n.Arrived[to] = slices.Clone(from)
	}
	seen := map[string]bool{}
	for i := range done {
		for _, t := range done[i].next {
			switch {
			case t.Edges && slices.ContainsFunc(n.Tasks, func(o frontier.Target) bool { return o.Edges && o.Node == t.Node }):
			case t.Edges || t.Input != nil:
				n.Tasks = append(n.Tasks, t)
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

// leadsStraightOn reports whether a completion leads to nothing but nodes that run next.
func (a *topology[S]) leadsStraightOn(c *completion) bool {
	if n := a.completer(c); n != nil && len(n.joins) > 0 {
		return false
	}
	return len(c.next) == 0 || len(c.next) == 1 && (c.next[0].Input != nil || c.next[0].Edges || !a.node(&c.next[0]).opt.Defer)
}

// addNode puts a node on the frontier, once.
func (a *topology[S]) addNode(g *frontier.Frontier, seen map[string]bool, name string) {
	switch {
	case a.nodes[name].opt.Defer:
		if !slices.Contains(g.Deferred, name) {
			g.Deferred = append(g.Deferred, name)
		}
	case !seen[name]:
		seen[name] = true
		g.Tasks = append(g.Tasks, frontier.Target{Node: name})
	}
}

// arriveAtJoins counts a completed node at the joins it is a source of.
func (a *topology[S]) arriveAtJoins(g *frontier.Frontier, seen map[string]bool, n *node[S]) {
	if n == nil {
		return
	}
	for _, j := range n.joins {
		from := g.Arrived[j.to]
		if !slices.Contains(from, n.name) {
			from = append(from, n.name)
		}
		if len(from) < len(j.from) {
			g.Arrived[j.to] = from
			continue
		}
		delete(g.Arrived, j.to)
		a.addNode(g, seen, j.to)
	}
}

// unmetJoin returns why a run cannot end: a join that nobody will complete.
func (a *topology[S]) unmetJoin(g *frontier.Frontier) error {
	for _, n := range a.order {
		if from := g.Arrived[n.name]; len(from) > 0 {
			e := &JoinError{Graph: a.name, Node: n.name, Arrived: from}
			for _, s := range n.join.from {
				if !slices.Contains(from, s) {
					e.Missing = append(e.Missing, s)
				}
			}
			return e
		}
	}
	return fmt.Errorf("graph: arrivals at unknown joins: %v", g.Arrived)
}
