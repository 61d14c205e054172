package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// A checker builds an App from a Graph and notes everything that is wrong.
type checker[S any] struct {
	app  *App[S]
	list []string
}

func (c *checker[S]) problem(format string, args ...any) {
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

func (c *checker[S]) graph(g *Graph[S], o *CompileOptions) {
	if err := posthouse.ID(g.name).Validate(); err != nil {
		c.problem("its name %q is not an id: %v", g.name, err)
	}
	for _, n := range g.nodes {
		c.node(n)
	}
	for i := range g.ways {
		c.way(g.ways[i])
	}
	if c.app.start == nil {
		c.problem("it has no entry: add an edge or a route from graph.Start")
	}
	for _, n := range c.app.order {
		if n.way == nil {
			c.problem("node %q leads nowhere: add an edge or a route from it, to graph.End if the run is over there", n.name)
		}
	}
	c.reach()
	c.interrupts("InterruptBefore", o.InterruptBefore, func(n *node[S]) { n.before = true })
	c.interrupts("InterruptAfter", o.InterruptAfter, func(n *node[S]) { n.after = true })
	c.app.next = map[string][]string{End: nil}
	for _, n := range c.app.order {
		c.app.next[n.name] = []string{n.name}
	}
}

// node adds a copy: the App does not see what the Graph becomes.
func (c *checker[S]) node(of *node[S]) {
	n := *of
	switch err := posthouse.ID(n.name).Validate(); {
	case err != nil:
		c.problem("the node name %q is not an id: %v", n.name, err)
	case isPlace(n.name):
		c.problem("the node name %q begins with $, which is kept for graph.Start and graph.End", n.name)
	case c.app.nodes[n.name] != nil:
		c.problem("node %q is added twice", n.name)
		return
	}
	if n.run == nil {
		c.problem("node %q has no function", n.name)
	}
	if n.more {
		c.problem("node %q has more than one NodeOptions", n.name)
	}
	n.index, n.before, n.after = len(c.app.order), n.opt.InterruptBefore, n.opt.InterruptAfter
	c.app.nodes[n.name] = &n
	c.app.order = append(c.app.order, &n)
}

func (c *checker[S]) way(w way[S]) {
	kind := "edge"
	if w.route != nil {
		kind = "route"
	}
	n := c.app.nodes[w.from]
	switch {
	case w.from == Start && c.app.start != nil, n != nil && n.way != nil:
		c.problem("%q leads on twice: a place has one edge or one route (parallel branches are not supported yet)", w.from)
	case w.from == Start:
		c.app.start = &w
	case w.from == End:
		c.problem("an %s begins at graph.End, where runs end", kind)
	case n == nil:
		c.problem("an %s begins at %q, which is not a node", kind, w.from)
	default:
		n.way = &w
	}
	if w.route == nil && len(w.to) != 1 {
		c.problem("the route from %q has no function", w.from)
	}
	for _, to := range w.to {
		switch {
		case to == Start:
			c.problem("the %s from %q leads to graph.Start: name the entry node instead", kind, w.from)
		case to != End && c.app.nodes[to] == nil:
			c.problem("the %s from %q leads to %q, which is not a node", kind, w.from, to)
		}
	}
}

// reach finds nodes that no way leads to. A route that does not say where it
// leads may lead anywhere.
func (c *checker[S]) reach() {
	if c.app.start == nil {
		return
	}
	seen := map[string]bool{}
	todo := []*way[S]{c.app.start}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if w == nil {
			continue
		}
		if w.route != nil && len(w.to) == 0 {
			return
		}
		for _, to := range w.to {
			if n := c.app.nodes[to]; n != nil && !seen[to] {
				seen[to] = true
				todo = append(todo, n.way)
			}
		}
	}
	for _, n := range c.app.order {
		if !seen[n.name] {
			c.problem("node %q cannot be reached from graph.Start", n.name)
		}
	}
}

func (c *checker[S]) interrupts(field string, names []string, set func(*node[S])) {
	for _, name := range names {
		if n := c.app.nodes[name]; n != nil {
			set(n)
		} else if name != "*" {
			c.problem("%s names %q, which is not a node", field, name)
		}
	}
	if slices.Contains(names, "*") {
		for _, n := range c.app.order {
			set(n)
		}
	}
}

// leads describes where a way leads, for the fingerprint.
func (w *way[S]) leads() string {
	if w == nil {
		return ""
	}
	if w.route == nil {
		return w.to[0]
	}
	return "?" + strings.Join(w.to, "|")
}
