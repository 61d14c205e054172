package topology

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse/graph/internal/frontier"
)

// A Checker puts a graph together and notes everything that keeps it from running.
type Checker struct {
	*Graph
	List []string // one sentence each
}

// Problem notes something.
func (c *Checker) Problem(format string, args ...any) {
	c.List = append(c.List, fmt.Sprintf(format, args...))
}

// AddTransition adds a transition. missing says that it has no function.
func (c *Checker) AddTransition(w *Transition, missing bool) {
	w.To = frontier.MapNames(w.To, c.Real)
	n := c.Nodes[w.From]
	switch {
	case w.From == Start:
		c.Start = append(c.Start, w)
	case w.From == End:
		c.Problem("an edge, route or map begins at graph.End, where runs end")
	case n == nil:
		c.Problem("an edge, route or map begins at %q, which is not a node", w.From)
	default:
		if w.Kind == Edge && slices.ContainsFunc(n.Transitions, func(o *Transition) bool { return o.Kind == Edge && o.To[0] == w.To[0] }) {
			c.Problem("the edge from %q to %q is added twice", w.From, w.To[0])
		}
		n.Transitions = append(n.Transitions, w)
	}
	if missing {
		c.Problem("the %s from %q has no function", w.Kind, w.From)
	}
	c.targets("the "+string(w.Kind)+" from "+strconv.Quote(w.From), w.Kind == Map, w.To)
}

// targets checks where a transition may lead: sends to tasks, others to other nodes.
func (c *Checker) targets(what string, sends bool, to []string) {
	for _, name := range to {
		n := c.Nodes[name]
		switch {
		case name == Start:
			c.Problem("%s leads to graph.Start: name the entry node instead", what)
		case name == End && !sends:
		case n == nil:
			c.Problem("%s leads to %q, which is not a node", what, name)
		case sends && n.Input == nil:
			c.Problem("%s sends to %q, which takes no input: add it by graph.Task", what, name)
		case !sends && n.Input != nil:
			c.Problem("%s leads to task %q, which needs an input: use Map or a Command with Send", what, name)
		}
	}
}

// AddJoin adds a join.
func (c *Checker) AddJoin(j Join) {
	j.To = c.Real(j.To)
	to := c.Nodes[j.To]
	switch {
	case to == nil:
		c.Problem("a join leads to %q, which is not a node", j.To)
		return
	case to.Join != nil:
		c.Problem("node %q is joined twice", j.To)
		return
	case to.Input != nil:
		c.Problem("a join leads to task %q, which needs an input", j.To)
	case len(j.From) < 2:
		c.Problem("the join to %q has fewer than two sources: use an edge", j.To)
	}
	to.Join = &j
	for i, name := range j.From {
		n := c.Nodes[name]
		switch {
		case n == nil:
			c.Problem("the join to %q has the source %q, which is not a node", j.To, name)
		case slices.Contains(j.From[:i], name):
			c.Problem("the join to %q has the source %q twice", j.To, name)
		default:
			n.Joins = append(n.Joins, &j)
		}
	}
}

// Reach finds nodes that no transition leads to. A route or command that does not say
// where it leads may lead to all of them.
func (c *Checker) Reach() {
	if len(c.Start) == 0 {
		return
	}
	seen, anywhere := map[string]bool{}, false
	var visit func(name string)
	follow := func(ways []*Transition) {
		for _, w := range ways {
			anywhere = anywhere || len(w.To) == 0
			for _, to := range w.To {
				visit(to)
			}
		}
	}
	visit = func(name string) {
		n := c.Nodes[name]
		if n == nil || seen[name] {
			return
		}
		seen[name] = true
		anywhere = anywhere || (n.Decides || n.Handled) && len(n.Targets) == 0
		for _, to := range n.Targets {
			visit(to)
		}
		for _, j := range n.Joins {
			visit(j.To)
		}
		follow(n.Transitions)
	}
	if follow(c.Start); anywhere {
		return
	}
	hint := ""
	if slices.ContainsFunc(c.Order, func(n *Node) bool { return n.Sub != "" }) {
		hint = ": if a subgraph leads to it by Command.Parent, say so in its SubOptions.Node.Targets"
	}
	for _, n := range c.Order {
		if !seen[n.Name] {
			c.Problem("node %q cannot be reached from graph.Start%s", n.Name, hint)
		}
	}
}

// Interrupts sets where runs stop: at the nodes that an option names.
func (c *Checker) Interrupts(field string, names []string, set func(*Node)) {
	for _, name := range names {
		if field == "InterruptBefore" {
			name = c.Real(name)
		}
		if n := c.Nodes[name]; n != nil {
			set(n)
		} else if name != "*" {
			c.Problem("%s names %q, which is not a node", field, name)
		}
	}
	if slices.Contains(names, "*") {
		for _, n := range c.Order {
			set(n)
		}
	}
}

// LeadsOn finds nodes that lead nowhere, and commands that lead to unknown nodes.
func (c *Checker) LeadsOn() {
	for _, n := range c.Order {
		if len(n.Transitions) == 0 && len(n.Joins) == 0 && !n.Leads() {
			c.Problem("node %q leads nowhere: add an edge or a route from it, to graph.End if the run is over there", n.Name)
		}
		for _, to := range n.Targets {
			if to != End && c.Nodes[to] == nil {
				c.Problem("the Targets of node %q name %q, which is not a node", n.Name, to)
			}
		}
	}
}
