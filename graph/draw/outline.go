package draw

import "github.com/posthouse/posthouse/graph"

// A Graph is a graph as data, with the nodes of its subgraphs.
type Graph struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// A Node is a node of a graph, of one of its subgraphs, or where one of them begins or ends.
type Node struct {
	// ID is how checkpoints name the node: in a subgraph after the subgraph's and a /. Begins and ends
	// are >start and >end.
	ID   string `json:"id"`
	Name string `json:"name"` // as written in the program
	Kind string `json:"kind"` // node, command (it says where it leads), task, remote (on a worker), subgraph, start, end, or anywhere
}

// An Edge is a way from one [Node] to another, by their ids.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	Kind string `json:"kind,omitempty"` // join, or who decides that it is taken: route, routes, map, command, error; empty of one that is always taken
}

// Outline returns a graph as data, for pages that draw it themselves.
func Outline(s *graph.Shape) *Graph {
	g := &Graph{Nodes: []Node{}, Edges: []Edge{}}
	g.add(draw(s, nil, nil), "")
	return g
}

// add adds a drawing. Path is that of the subgraph, with a / at its end.
func (g *Graph) add(d *drawing, path string) {
	for _, x := range d.boxes {
		g.Nodes = append(g.Nodes, Node{ID: x.path, Name: x.name, Kind: x.shape})
		if x.sub != nil {
			g.add(x.sub, x.path+"/")
		}
	}
	for _, l := range d.lines {
		g.Edges = append(g.Edges, Edge{From: l.from.last().path, To: l.to.first().path, Kind: l.label})
	}
}
