// Package route follows the transitions of a graph: it calls the functions of routes and maps,
// and returns what runs next.
package route

import (
	"slices"

	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Transition leads on from a node, or from Start.
type Transition struct {
	topology.Transition
	Names Names // of an inlined transition

	Route  func(state any) string // by kind, one of these
	Routes func(state any) []string
	Sends  func(state any) []topology.Send
}

// IsComplete reports whether the transition has the function that its kind needs.
func (w *Transition) IsComplete() bool {
	return w.Kind == topology.Edge || w.Route != nil || w.Routes != nil || w.Sends != nil
}

// Names are the names of an inlined node in the graphs around it, the nearest first, each by its
// name within.
type Names []func(string) string

// Outer returns what the graph that was compiled calls a node.
func (ns Names) Outer(name string) string {
	for _, names := range ns {
		name = names(name)
	}
	return name
}

func (ns Names) outerSends(sends []topology.Send) []topology.Send {
	if len(ns) == 0 {
		return sends
	}
	sends = slices.Clone(sends)
	for i := range sends {
		sends[i].Node = ns.Outer(sends[i].Node)
	}
	return sends
}

// Follow returns where the transitions of one place lead from a state. All are followed at once.
func Follow(g *topology.Graph, all []*Transition, state any) (next []frontier.Target, err error) {
	for _, w := range all {
		ts, err := w.follow(g, state)
		if err != nil {
			return nil, err
		}
		if next == nil {
			next = slices.Clip(ts) // it may be the graph's
		} else {
			next = append(next, ts...)
		}
	}
	return next, nil
}

func (w *Transition) follow(g *topology.Graph, s any) ([]frontier.Target, error) {
	var to []string
	var sends []topology.Send
	switch w.Kind {
	case topology.Edge:
		return g.To[w.To[0]], nil
	case topology.Route:
		var name string
		if err := engine.Guard(func() error { name = w.Route(s); return nil }); err != nil {
			return nil, err
		}
		name = g.Real(w.Names.Outer(name))
		if n := g.Nodes[name]; n != nil && n.Input == nil && (len(w.To) == 0 || slices.Contains(w.To, name)) {
			return n.Self, nil
		}
		to = []string{name}
	case topology.Routes:
		if err := engine.Guard(func() error { to = w.Routes(s); return nil }); err != nil {
			return nil, err
		}
		to = frontier.MapNames(to, w.Names.Outer)
	case topology.Map:
		if err := engine.Guard(func() error { sends = w.Sends(s); return nil }); err != nil {
			return nil, err
		}
		sends = w.Names.outerSends(sends)
	}
	return g.Resolve(string(w.Kind)+" from", w.From, w.To, to, sends)
}
