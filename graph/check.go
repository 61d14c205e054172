package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/engine"
)

// A checker builds an App from a Graph and notes everything that is wrong.
type checker[S any] struct {
	app  *App[S]
	opt  *CompileOptions
	list []string
}

func (c *checker[S]) problem(format string, args ...any) {
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

func (c *checker[S]) graph(g *Graph[S], o *CompileOptions) {
	c.opt = o
	if err := posthouse.ValidateName("name", g.name); err != nil {
		c.problem("its name %q cannot be one: %v", g.name, err)
	}
	for _, n := range g.nodes {
		c.node(n)
	}
	for i := range g.transitions {
		c.transition(g.transitions[i])
	}
	for i := range g.joins {
		c.join(g.joins[i])
	}
	for _, h := range g.handlers {
		c.handler(h)
	}
	c.app.schema.Register(g.merges, c.problem)
	if len(c.app.start) == 0 {
		c.problem("it has no entry: add an edge or a route from graph.Start")
	}
	for _, n := range c.app.order {
		if len(n.transitions) == 0 && len(n.Joins) == 0 && !n.leads() {
			c.problem("node %q leads nowhere: add an edge or a route from it, to graph.End if the run is over there", n.Name)
		}
		for _, to := range n.opt.Targets {
			if to != End && c.app.nodes[to] == nil {
				c.problem("the Targets of node %q name %q, which is not a node", n.Name, to)
			}
		}
	}
	c.reach()
	c.interrupts("InterruptBefore", o.InterruptBefore, func(n *node[S]) { n.before = true })
	c.interrupts("InterruptAfter", o.InterruptAfter, func(n *node[S]) { n.after = true })
	c.interrupts("InterruptBeforeEdges", o.InterruptBeforeEdges, func(n *node[S]) { n.after, n.edges = true, true })
}

// node adds a copy: the App does not see what the Graph becomes.
func (c *checker[S]) node(of *node[S]) {
	n := *of
	switch err := posthouse.ValidateName("name", n.Name); {
	case err != nil:
		c.problem("the node name %q cannot be one: %v", n.Name, err)
	case isPlace(n.Name):
		c.problem("the node name %q begins with $, which is kept for graph.Start and graph.End", n.Name)
	case c.app.nodes[n.Name] != nil:
		c.problem("node %q is added twice", n.Name)
		return
	}
	if n.run == nil && n.sub == nil {
		c.problem("node %q has no function", n.Name)
	}
	if n.sub != nil {
		sub, err := n.sub.compile(c.app.ledger, c.opt)
		if err != nil {
			c.problem("the subgraph of node %q cannot run: %v", n.Name, err)
		}
		n.sub = sub
	}
	if n.more {
		c.problem("node %q has more than one NodeOptions", n.Name)
	}
	if p := n.opt.Retry.Validate(); p != "" {
		c.problem("the Retry of node %q: %s", n.Name, p)
	}
	if n.opt.Snapshots > SnapshotNone {
		c.problem("the Snapshots %d of node %q is unknown", n.opt.Snapshots, n.Name)
	}
	if n.opt.Effect > posthouse.EffectHuman {
		c.problem("the Effect %d of node %q is unknown", n.opt.Effect, n.Name)
	}
	if l := c.app.ledger; n.opt.Effect == posthouse.EffectExternal && l != nil && commit.RequiresGrants(l.Core()) {
		c.problem("node %q acts on the world, and the ledger asks for a grant: act within it by gate.Act", n.Name)
	}
	c.defaults(&n)
	if n.Input != nil && n.opt.Defer {
		c.problem("task %q cannot be deferred: it runs when it is sent an input", n.Name)
	}
	n.opt.Targets = mapNames(n.opt.Targets, c.app.Real)
	n.Defer, n.before, n.after = n.opt.Defer, n.opt.InterruptBefore, n.opt.InterruptAfter
	if n.opt.InterruptBeforeEdges {
		n.after, n.edges = true, true
	}
	c.app.Add(&n.Node)
	c.app.nodes[n.Name] = &n
	c.app.order = append(c.app.order, &n)
}

// defaults gives a node what it says nothing of. The nodes of a subgraph have
// it, and so what calls them does not.
func (c *checker[S]) defaults(n *node[S]) {
	d := NodeOptions{Retry: c.opt.Retry, Timeout: c.opt.Timeout, IdleTimeout: c.opt.IdleTimeout}
	if n.sub != nil {
		d = NodeOptions{}
	}
	n.opt.Retry = n.opt.Retry.Or(d.Retry)
	n.opt.Timeout, n.opt.IdleTimeout = engine.LimitOr(n.opt.Timeout, d.Timeout), engine.LimitOr(n.opt.IdleTimeout, d.IdleTimeout)
}

func (c *checker[S]) transition(w transition[S]) {
	w.to = mapNames(w.to, c.app.Real)
	n := c.app.nodes[w.from]
	switch {
	case w.from == Start:
		c.app.start = append(c.app.start, &w)
	case w.from == End:
		c.problem("an edge, route or map begins at graph.End, where runs end")
	case n == nil:
		c.problem("an edge, route or map begins at %q, which is not a node", w.from)
	default:
		if w.kind == edgeTransition && slices.ContainsFunc(n.transitions, func(o *transition[S]) bool { return o.kind == edgeTransition && o.to[0] == w.to[0] }) {
			c.problem("the edge from %q to %q is added twice", w.from, w.to[0])
		}
		n.transitions = append(n.transitions, &w)
	}
	if w.kind != edgeTransition && w.route == nil && w.routes == nil && w.sends == nil {
		c.problem("the %s from %q has no function", w.kind, w.from)
	}
	c.targets("the "+string(w.kind)+" from "+strconv.Quote(w.from), w.kind == mapTransition, w.to)
}

// targets checks where something may lead. Sends lead to tasks, all else to the
// other nodes; a command may do both.
func (c *checker[S]) targets(what string, sends bool, to []string) {
	for _, name := range to {
		n := c.app.nodes[name]
		switch {
		case name == Start:
			c.problem("%s leads to graph.Start: name the entry node instead", what)
		case name == End && !sends:
		case n == nil:
			c.problem("%s leads to %q, which is not a node", what, name)
		case sends && n.Input == nil:
			c.problem("%s sends to %q, which takes no input: add it by graph.Task", what, name)
		case !sends && n.Input != nil:
			c.problem("%s leads to task %q, which needs an input: use Map or a Command with Send", what, name)
		}
	}
}

func (c *checker[S]) join(j topology.Join) {
	j.To = c.app.Real(j.To)
	to := c.app.nodes[j.To]
	switch {
	case to == nil:
		c.problem("a join leads to %q, which is not a node", j.To)
		return
	case to.Join != nil:
		c.problem("node %q is joined twice", j.To)
		return
	case to.Input != nil:
		c.problem("a join leads to task %q, which needs an input", j.To)
	case len(j.From) < 2:
		c.problem("the join to %q has fewer than two sources: use an edge", j.To)
	}
	to.Join = &j
	for i, name := range j.From {
		n := c.app.nodes[name]
		switch {
		case n == nil:
			c.problem("the join to %q has the source %q, which is not a node", j.To, name)
		case slices.Contains(j.From[:i], name):
			c.problem("the join to %q has the source %q twice", j.To, name)
		default:
			n.Joins = append(n.Joins, &j)
		}
	}
}

func (c *checker[S]) handler(h handler[S]) {
	n := c.app.nodes[h.node]
	switch {
	case n == nil:
		c.problem("an error handler is given for %q, which is not a node", h.node)
	case h.run == nil:
		c.problem("the error handler of %q has no function", h.node)
	case n.onError != nil:
		c.problem("node %q has two error handlers", h.node)
	default:
		n.onError = h.run
	}
}

// reach finds nodes that no transition leads to. A route or command that does not say
// where it leads may lead anywhere.
func (c *checker[S]) reach() {
	if len(c.app.start) == 0 {
		return
	}
	seen := map[string]bool{}
	todo := slices.Clone(c.app.start)
	var nodes []*node[S]
	visit := func(name string) {
		if n := c.app.nodes[name]; n != nil && !seen[name] {
			seen[name] = true
			nodes = append(nodes, n)
		}
	}
	for len(todo)+len(nodes) > 0 {
		for _, w := range todo {
			if len(w.to) == 0 {
				return
			}
			for _, to := range w.to {
				visit(to)
			}
		}
		todo = nil
		if len(nodes) == 0 {
			continue
		}
		n := nodes[len(nodes)-1]
		nodes = nodes[:len(nodes)-1]
		if (n.decides || n.onError != nil) && len(n.opt.Targets) == 0 {
			return
		}
		for _, to := range n.opt.Targets {
			visit(to)
		}
		for _, j := range n.Joins {
			visit(j.To)
		}
		todo = slices.Clone(n.transitions)
	}
	hint := ""
	if slices.ContainsFunc(c.app.order, func(n *node[S]) bool { return n.sub != nil }) {
		hint = ": if a subgraph leads to it by Command.Parent, say so in its SubOptions.Node.Targets"
	}
	for _, n := range c.app.order {
		if !seen[n.Name] {
			c.problem("node %q cannot be reached from graph.Start%s", n.Name, hint)
		}
	}
}

func (c *checker[S]) interrupts(field string, names []string, set func(*node[S])) {
	for _, name := range names {
		if field == "InterruptBefore" {
			name = c.app.Real(name)
		}
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

// describeTransitions describes where transitions lead, for the fingerprint.
func describeTransitions[S any](ways []*transition[S]) string {
	var all []string
	for _, w := range ways {
		all = append(all, map[transitionKind]string{edgeTransition: "", routeTransition: "?", routesTransition: "*", mapTransition: "!"}[w.kind]+strings.Join(mapNames(w.to, quoteName), "|"))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
