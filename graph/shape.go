package graph

import (
	"cmp"
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/progress"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/internal/engine/front"
)

// A Shape is a graph as data, from which pictures are drawn. Its lists are in the order
// in which things were added.
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
	Kind            string `json:"kind"`             // "node", "command", "task", "remote" or "subgraph"
	Input           string `json:"input,omitempty"`  // of a task: the Go type it is sent
	Remote          string `json:"remote,omitempty"` // of a remote node: its task, which is the name of the handler
	Defer           bool   `json:"defer,omitempty"`
	InterruptBefore bool   `json:"interruptBefore,omitempty"`
	InterruptAfter  bool   `json:"interruptAfter,omitempty"`
	Sub             *Shape `json:"sub,omitempty"` // of a subgraph
}

// An EdgeShape is one transition of a [Shape].
type EdgeShape struct {
	From string `json:"from"`
	To   string `json:"to"`   // "" of a route, map or command that may lead anywhere
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
func (a *App[S]) Shape() *Shape { return shapeOf(a.core.Graph) }

func shapeOf(g *topology.Graph) *Shape {
	s := &Shape{Name: g.Title, Fingerprint: g.Fingerprint()}
	s.addTransitions(Start, g.Start)
	for _, n := range g.Order {
		v := NodeShape{Name: n.Name, Kind: "node", Defer: n.Defer, InterruptBefore: n.Before, InterruptAfter: n.After}
		switch {
		case n.Subgraph != nil:
			v.Kind, v.Sub = "subgraph", shapeOf(n.Subgraph.Graph)
		case n.Input != nil:
			v.Kind, v.Input = "task", n.Input.String()
		case n.Remote != "":
			v.Kind, v.Remote = "remote", n.Remote
		case n.Decides:
			v.Kind = "command"
		}
		s.Nodes = append(s.Nodes, v)
		s.addTransitions(n.Name, n.Transitions)
		if n.Leads() {
			s.addEdges(n.Name, "command", n.Targets)
		} else if n.Handled && len(n.Targets) > 0 {
			s.addEdges(n.Name, "error", n.Targets)
		}
	}
	for _, n := range g.Order {
		if n.Join != nil {
			for _, from := range n.Join.From {
				s.Edges = append(s.Edges, EdgeShape{from, n.Name, "join"})
			}
		}
	}
	for i := range g.Schema.Fields {
		f := &g.Schema.Fields[i]
		merge := string(f.Merge)
		if f.Appends() {
			merge = "append"
		}
		s.Parts = append(s.Parts, PartShape{f.Part, f.Name, f.Type.String(), merge})
	}
	return s
}

func (s *Shape) addTransitions(from string, ws []*topology.Transition) {
	ws = slices.Clone(ws)
	slices.SortStableFunc(ws, func(a, b *topology.Transition) int { return cmp.Compare(a.Kind, b.Kind) })
	for _, w := range ws {
		s.addEdges(from, string(w.Kind), w.To)
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

// ProgressOptions name the thread of [App.Progress]. Thread or Checkpoint is required.
type ProgressOptions struct {
	Thread     string       // default the thread of Checkpoint
	Branch     string       // default main
	Checkpoint posthouse.ID // read the progress as of this checkpoint; default the branch's head
}

// Progress is how far a thread is in its graph, as marks by the paths of nodes. A path
// consists of escaped names ([posthouse.EscapeName]) joined by slashes, as in
// "research/write". A node without a mark has not run since the newest input.
type Progress map[string]Mark

// A Mark says how far a thread is at a node.
type Mark string

// The marks. Done counts from the thread's newest input.
const (
	MarkNone    Mark = ""
	MarkDone    Mark = "done"
	MarkNext    Mark = "next"
	MarkWaiting Mark = "waiting"
	MarkFailed  Mark = "failed"
)

// Progress returns how far a thread is in the graph. It includes nodes of subgraphs,
// and tasks of an unfinished step that completed. [posthouse.ErrNotFound] for an
// unknown thread or checkpoint, [posthouse.ErrInvalid] for those of another program.
func (a *App[S]) Progress(ctx context.Context, o ProgressOptions) (Progress, error) {
	return a.core.progressOf(ctx, &o)
}

func (a *core) progressOf(ctx context.Context, o *ProgressOptions) (Progress, error) {
	var c *posthouse.Checkpoint
	var err error
	if o.Checkpoint != "" && o.Thread == "" {
		c, err = a.ledger.Get(ctx, o.Checkpoint)
	} else {
		c, err = front.StateOf(ctx, a.ledger, o.Thread, front.StateOptions{Branch: o.Branch, Checkpoint: o.Checkpoint})
	}
	if err == nil {
		err = a.front.Owns(&c.Header)
	}
	if err != nil {
		return nil, err
	}
	marks, err := progress.Of(ctx, a.ledger, c, a.migrationsFrom(c.Fingerprint))
	if err != nil {
		return nil, err
	}
	p := make(Progress, len(marks))
	for path, m := range marks {
		p[path] = Mark(m)
	}
	return p, nil
}
