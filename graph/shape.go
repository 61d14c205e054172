package graph

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/progress"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/internal/engine"
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
			Name: n.Name, Kind: "node", Defer: n.opt.Defer, InterruptBefore: n.before, InterruptAfter: n.after,
		}
		switch {
		case n.sub != nil:
			v.Kind, v.Sub = "subgraph", n.sub.outline()
		case n.Input != nil:
			v.Kind, v.Input = "task", n.Input.String()
		case n.decides:
			v.Kind = "command"
		}
		s.Nodes = append(s.Nodes, v)
		s.addTransitions(n.Name, transitionShapes(n.transitions))
		if n.leads() {
			s.addEdges(n.Name, "command", n.opt.Targets)
		} else if n.onError != nil && len(n.opt.Targets) > 0 {
			s.addEdges(n.Name, "error", n.opt.Targets)
		}
	}
	for _, n := range a.order {
		if n.Join != nil {
			for _, from := range n.Join.From {
				s.Edges = append(s.Edges, EdgeShape{from, n.Name, "join"})
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

// fingerprint is a short stable hash of the graph's shape: its nodes, what they
// are sent, where they lead, and the parts of its state with their types. The
// order in which they were added does not count, nor does what the functions
// do.
func fingerprint[S any](a *App[S]) string {
	lines := []string{"start " + describeTransitions(a.start), "codec " + a.codec.Name()}
	for _, n := range a.order {
		line := "node " + quoteName(n.Name) + " " + describeTransitions(n.transitions)
		if n.sub != nil {
			line += n.sub.shape()
		}
		lines = append(lines, line)
		if n.Join != nil {
			lines = append(lines, "join "+quoteName(n.Name)+" "+strings.Join(slices.Sorted(slices.Values(mapNames(n.Join.From, quoteName))), "|"))
		}
		if n.Input != nil {
			lines = append(lines, "input "+quoteName(n.Name)+" "+state.Describe(n.Input))
		}
		if n.opt.Defer {
			lines = append(lines, "defer "+quoteName(n.Name))
		}
	}
	lines = append(lines, a.schema.Describe()...)
	slices.Sort(lines)
	h := sha256.New()
	for _, l := range lines {
		fmt.Fprintf(h, "%d:%s", len(l), l)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// quoteName quotes a name that could be taken for more than one word.
func quoteName(name string) string {
	if posthouse.ID(name).Validate() == nil {
		return name
	}
	return strconv.Quote(name)
}

// ProgressOptions say of what [App.Progress] tells how far it is. Thread or
// Checkpoint is required.
type ProgressOptions struct {
	Thread     string       // the thread; found by Checkpoint if that is all there is
	Branch     string       // default main
	Checkpoint posthouse.ID // how the thread stood there; default the branch's head
}

// Progress is how far a thread is in its graph: marks by the paths of nodes,
// which are escaped names ([posthouse.EscapeName]) joined by slashes, as in
// "research/write". A node without a mark has not run since the newest input.
type Progress map[string]Mark

// A Mark says where a node stands in a thread.
type Mark = progress.Mark

// The marks. Done counts from the thread's newest input.
const (
	MarkNone    = progress.None
	MarkDone    = progress.Done
	MarkNext    = progress.Next
	MarkWaiting = progress.Waiting
	MarkFailed  = progress.Failed
)

// Progress returns how far a thread is in the graph, nodes of subgraphs and
// what completed of an unfinished step included. [posthouse.ErrNotFound] for an
// unknown thread or checkpoint, [posthouse.ErrInvalid] for those of another
// program.
func (a *App[S]) Progress(ctx context.Context, o ProgressOptions) (Progress, error) {
	var c *posthouse.Checkpoint
	var err error
	if o.Checkpoint != "" && o.Thread == "" {
		c, err = a.ledger.Get(ctx, o.Checkpoint)
	} else {
		c, err = engine.StateOf(ctx, a.ledger, o.Thread, engine.StateOptions{Branch: o.Branch, Checkpoint: o.Checkpoint})
	}
	if err == nil {
		err = a.front.Owns(&c.Header)
	}
	if err != nil {
		return nil, err
	}
	return progress.Of(ctx, a.ledger, c, a.migrationsFrom(c.Fingerprint))
}
