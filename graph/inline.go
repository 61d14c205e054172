package graph

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/topology"
)

// Inline adds the nodes of another graph of the same state under a place of this one.
// At the place "review" its node "read" becomes "review.read". Edges to the place
// enter the graph; edges to End inside go on where the place leads. The nodes run,
// merge, make checkpoints and are interrupted as if they had been added one by one. A
// [Command] with Parent leads on in the graph around. Later additions to sub do not
// count.
//
// Two nodes that do nothing and make no checkpoint represent the place: its ".start",
// and one of its name after the last. A branch inside that reaches End goes on after
// the place by itself. Where several run there, join them inside, or use [Subgraph].
func (g *Graph[S]) Inline(place string, sub *Graph[S]) {
	if sub == nil {
		g.Node(place, nil) // Compile says so
		return
	}
	nothing := func(context.Context, *S) error { return nil }
	g.Node(place+".start", nothing, NodeOptions{Snapshots: SnapshotNone})
	g.Node(place, nothing, NodeOptions{Snapshots: SnapshotNone})
	g.inline(place, &sub.definition)
}

// inline adds all of sub between the node place.start and the node place.
func (g *definition) inline(place string, sub *definition) {
	start := place + ".start"
	g.alias(place, start)
	g.alias(place+".end", place)
	names := func(name string) string {
		switch name {
		case Start:
			return start
		case End:
			return place + ".end"
		}
		return place + "." + name
	}
	for _, n := range sub.nodes {
		c := *n
		c.Name, c.names = names(n.Name), append(slices.Clip(n.names), names)
		c.opt.Targets = frontier.MapNames(n.opt.Targets, names)
		g.nodes = append(g.nodes, &c)
	}
	for _, w := range sub.transitions {
		w.From, w.To, w.Names = names(w.From), frontier.MapNames(w.To, names), append(slices.Clip(w.Names), names)
		g.transitions = append(g.transitions, w)
	}
	for _, j := range sub.joins {
		g.joins = append(g.joins, topology.Join{To: names(j.To), From: frontier.MapNames(j.From, names)})
	}
	for _, h := range sub.handlers {
		g.handlers = append(g.handlers, handler{names(h.node), h.run})
	}
	for from, to := range sub.aliases {
		g.alias(names(from), names(to))
	}
	for _, m := range sub.merges {
		if !slices.ContainsFunc(g.merges, func(o state.Merger) bool { return o.Field == m.Field }) {
			g.merges = append(g.merges, m)
		}
	}
}

// alias makes what leads to one name lead to another.
func (g *definition) alias(from, to string) {
	if g.aliases == nil {
		g.aliases = map[string]string{}
	}
	g.aliases[from] = to
}

// toOuterNames translates a command of an inlined node into the names of its graph. A
// command for the graph around skips the nearest level.
func (n *node) toOuterNames(c *Command) {
	if len(n.names) == 0 || c.isZero() {
		return
	}
	levels := n.names
	if c.Parent {
		c.Parent, levels = false, levels[1:]
	}
	c.Goto, c.Send = frontier.MapNames(c.Goto, levels.Outer), slices.Clone(c.Send)
	for i := range c.Send {
		c.Send[i].Node = levels.Outer(c.Send[i].Node)
	}
}
