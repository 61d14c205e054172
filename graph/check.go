package graph

import (
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/engine"
)

// A checker builds an App from a Graph and notes everything that is wrong.
type checker struct {
	topology.Checker
	app *core
	opt *CompileOptions
}

func (c *checker) graph(g *definition, o *CompileOptions) {
	c.opt = o
	if err := posthouse.ValidateName("name", g.name); err != nil {
		c.Problem("its name %q cannot be one: %v", g.name, err)
	}
	for _, n := range g.nodes {
		c.node(n)
	}
	for _, w := range g.transitions {
		c.AddTransition(&w.Transition, !w.IsComplete())
		if n := c.app.nodes[w.From]; n != nil {
			n.transitions = append(n.transitions, &w)
		} else if w.From == Start {
			c.app.start = append(c.app.start, &w)
		}
	}
	for _, j := range g.joins {
		c.AddJoin(j)
	}
	for _, h := range g.handlers {
		c.handler(h)
	}
	c.app.Schema.Register(g.merges, c.Problem)
	if len(c.app.start) == 0 {
		c.Problem("it has no entry: add an edge or a route from graph.Start")
	}
	c.LeadsOn()
	c.Reach()
	c.Interrupts("InterruptBefore", o.InterruptBefore, func(n *topology.Node) { n.Before = true })
	c.Interrupts("InterruptAfter", o.InterruptAfter, func(n *topology.Node) { n.After = true })
	c.Interrupts("InterruptBeforeEdges", o.InterruptBeforeEdges, func(n *topology.Node) { n.After, n.Edges = true, true })
}

// node adds a copy of a node, so that the App does not see later changes of the Graph.
func (c *checker) node(of *node) {
	n := *of
	switch err := posthouse.ValidateName("name", n.Name); {
	case err != nil:
		c.Problem("the node name %q cannot be one: %v", n.Name, err)
	case strings.HasPrefix(n.Name, "$"):
		c.Problem("the node name %q begins with $, which is kept for graph.Start and graph.End", n.Name)
	case c.app.nodes[n.Name] != nil:
		c.Problem("node %q is added twice", n.Name)
		return
	}
	if n.run == nil && n.sub == nil {
		c.Problem("node %q has no function", n.Name)
	}
	if n.remote != nil {
		c.remote(&n)
	}
	if n.sub != nil {
		sub, err := n.sub.compile(c.app.ledger, c.opt)
		n.sub, n.Sub = sub, " subgraph"
		if err == nil {
			n.Sub, n.Subgraph = sub.topology()
		} else {
			c.Problem("the subgraph of node %q cannot run: %v", n.Name, err)
		}
	}
	if n.more {
		c.Problem("node %q has more than one NodeOptions", n.Name)
	}
	retry := n.opt.retry()
	if p := retry.Validate(); p != "" {
		c.Problem("the Retry of node %q: %s", n.Name, p)
	}
	if n.opt.Snapshots > SnapshotNone {
		c.Problem("the Snapshots %d of node %q is unknown", n.opt.Snapshots, n.Name)
	}
	if n.opt.Effect > posthouse.EffectHuman {
		c.Problem("the Effect %d of node %q is unknown", n.opt.Effect, n.Name)
	}
	acts := n.opt.Effect == posthouse.EffectExternal
	if n.remote != nil {
		acts = !n.remote.acts() && (acts || n.opt.Effect == posthouse.EffectUnset)
	}
	if l := c.app.ledger; acts && l != nil && l.Core().Rules.RequireGrants {
		c.Problem("node %q acts on the world, and the ledger asks for a grant: act within it by gate.Act, or give it another Effect", n.Name)
	}
	c.defaults(&n)
	if n.Input != nil && n.opt.Defer {
		c.Problem("task %q cannot be deferred: it runs when it is sent an input", n.Name)
	}
	n.opt.Targets = frontier.MapNames(n.opt.Targets, c.app.Real)
	n.Targets = n.opt.Targets
	n.Defer, n.Before, n.After = n.opt.Defer, n.opt.InterruptBefore, n.opt.InterruptAfter
	if n.opt.InterruptBeforeEdges {
		n.After, n.Edges = true, true
	}
	c.app.Add(&n.Node)
	c.app.nodes[n.Name] = &n
	c.app.order = append(c.app.order, &n)
}

// defaults fills in the options that a node does not set. It skips a node that
// calls a subgraph, because the nodes in the subgraph get them, and a remote
// node.
func (c *checker) defaults(n *node) {
	d := NodeOptions{Retry: c.opt.Retry, RetryOn: c.opt.RetryOn, Timeout: c.opt.Timeout, IdleTimeout: c.opt.IdleTimeout}
	if n.sub != nil || n.remote != nil {
		d = NodeOptions{}
	}
	retry := n.opt.retry().Or(d.retry())
	n.opt.Retry, n.opt.RetryOn = retry.RetryPolicy, retry.On
	n.opt.Timeout, n.opt.IdleTimeout = engine.LimitOr(n.opt.Timeout, d.Timeout), engine.LimitOr(n.opt.IdleTimeout, d.IdleTimeout)
}

func (c *checker) handler(h handler) {
	n := c.app.nodes[h.node]
	switch {
	case n == nil:
		c.Problem("an error handler is given for %q, which is not a node", h.node)
	case h.run == nil:
		c.Problem("the error handler of %q has no function", h.node)
	case n.onError != nil:
		c.Problem("node %q has two error handlers", h.node)
	default:
		n.onError, n.Handled = h.run, true
	}
}
