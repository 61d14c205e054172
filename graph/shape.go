package graph

import (
	"cmp"
	"slices"
)

// A Shape is a graph as data: what pictures are drawn from. Its lists are in
// the order in which things were added.
type Shape struct {
	Name        string      `json:"name"`
	Fingerprint string      `json:"fingerprint"`
	Nodes       []NodeShape `json:"nodes"`
	Edges       []EdgeShape `json:"edges"`
	Parts       []PartShape `json:"parts"`
}

// A NodeShape is a node of a [Shape].
type NodeShape struct {
	Name            string `json:"name"`
	Kind            string `json:"kind"`            // "node", "command", "task" or "subgraph"
	Input           string `json:"input,omitempty"` // of a task: the Go type it is sent
	Defer           bool   `json:"defer,omitempty"`
	InterruptBefore bool   `json:"interruptBefore,omitempty"`
	InterruptAfter  bool   `json:"interruptAfter,omitempty"`
	Sub             *Shape `json:"sub,omitempty"` // of a subgraph
}

// An EdgeShape is one transition of a [Shape]. A route, map or command that may lead
// anywhere has To "".
type EdgeShape struct {
	From string `json:"from"`
	To   string `json:"to"`
	Kind string `json:"kind"` // "edge", "route", "routes", "map", "join", "command" or "error"
}

// A PartShape is a part of the state of a [Shape].
type PartShape struct {
	Name  string `json:"name"`
	Field string `json:"field"` // the Go field
	Type  string `json:"type"`  // the Go type
	Merge string `json:"merge"` // how parallel writes merge: "append" or a rule's name
}

// Shape returns the graph as data.
func (a *App[S]) Shape() *Shape {
	s := &Shape{Name: a.name, Fingerprint: a.fingerprint}
	s.addTransitions(Start, transitionShapes(a.start))
	for _, n := range a.order {
		v := NodeShape{
			Name: n.name, Kind: "node", Defer: n.opt.Defer, InterruptBefore: n.before, InterruptAfter: n.after,
		}
		switch {
		case n.sub != nil:
			v.Kind, v.Sub = "subgraph", n.sub.outline()
		case n.input != nil:
			v.Kind, v.Input = "task", n.input.String()
		case n.decides:
			v.Kind = "command"
		}
		s.Nodes = append(s.Nodes, v)
		s.addTransitions(n.name, transitionShapes(n.transitions))
		if n.leads() {
			s.addEdges(n.name, "command", n.opt.Targets)
		} else if n.onError != nil && len(n.opt.Targets) > 0 {
			s.addEdges(n.name, "error", n.opt.Targets)
		}
	}
	for _, n := range a.order {
		if n.join != nil {
			for _, from := range n.join.from {
				s.Edges = append(s.Edges, EdgeShape{from, n.name, "join"})
			}
		}
	}
	for i := range a.schema.Fields {
		f := &a.schema.Fields[i]
		merge := string(f.Merge)
		if f.Appends() {
			merge = "append"
		}
		s.Parts = append(s.Parts, PartShape{f.Part, f.Name, f.Type.String(), merge})
	}
	return s
}

// outline returns the shape of a subgraph.
func (in *inner[S, T]) outline() *Shape { return in.app.Shape() }

type transitionShape struct {
	kind string
	to   []string
}

func transitionShapes[S any](ways []*transition[S]) (ws []transitionShape) {
	for _, w := range ways {
		ws = append(ws, transitionShape{string(w.kind), w.to})
	}
	return ws
}

func (s *Shape) addTransitions(from string, ws []transitionShape) {
	slices.SortStableFunc(ws, func(a, b transitionShape) int { return cmp.Compare(a.kind, b.kind) })
	for _, w := range ws {
		s.addEdges(from, w.kind, w.to)
	}
}

func (s *Shape) addEdges(from, kind string, to []string) {
	if len(to) == 0 {
		to = []string{""}
	}
	for _, t := range to {
		s.Edges = append(s.Edges, EdgeShape{from, t, kind})
	}
}
