package draw

import (
	"cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
)

// Options say how a graph is drawn. Nil is the zero value.
type Options struct {
	LeftRight bool // from left to right; default downwards
}

// Mermaid returns a graph as the text of a Mermaid flowchart, with the progress of a
// thread in it. A nil progress draws the graph alone. The same outline and progress give
// the same text.
func Mermaid(s *graph.Shape, p graph.Progress, o *Options) string {
	return draw(s, p, o).mermaid()
}

// DOT is [Mermaid] for Graphviz.
func DOT(s *graph.Shape, p graph.Progress, o *Options) string {
	return draw(s, p, o).dot()
}

func draw(s *graph.Shape, p graph.Progress, o *Options) *drawing {
	n := 0
	d := newDrawing(s, "", p, &n)
	d.leftRight = cmp.Or(o, &Options{}).LeftRight
	return d
}

// A drawing is a graph to be written down. Boxes are numbered through all
// clusters.
type drawing struct {
	name       string
	boxes      []*box
	start, end *box // two of the boxes
	lines      []line
	leftRight  bool
}

type boxKind uint8

const (
	boxNode boxKind = iota
	boxStart
	boxEnd
	boxAnywhere
)

type box struct {
	id    int
	kind  boxKind
	name  string
	path  string // as checkpoints name it; no node's of begins and ends
	shape string // the kind of node
	note  string // a second line
	round bool   // it decides where it leads
	mark  graph.Mark
	sub   *drawing
}

type line struct {
	from, to *box
	label    string
	dashed   bool
}

func newDrawing(s *graph.Shape, path string, p graph.Progress, n *int) *drawing {
	d := &drawing{name: s.Name}
	add := func(b *box) *box {
		b.id = *n
		*n++
		d.boxes = append(d.boxes, b)
		return b
	}
	d.start = add(&box{kind: boxStart, name: "start", path: path + ">start", shape: "start"})
	by := map[string]*box{graph.Start: d.start}
	for _, v := range s.Nodes {
		at := path + posthouse.EscapeName(v.Name)
		b := add(&box{name: v.Name, path: at, shape: v.Kind, round: v.Kind == "command", mark: p[at]})
		switch {
		case v.Sub != nil:
			b.sub = newDrawing(v.Sub, at+"/", p, n)
		case v.Kind == "task":
			b.note = "task"
		case v.Kind == "remote":
			b.note = "remote " + v.Remote
		case v.Defer:
			b.note = "deferred"
		}
		by[v.Name] = b
	}
	d.end = add(&box{kind: boxEnd, name: "end", path: path + ">end", shape: "end"})
	by[graph.End] = d.end
	for _, e := range s.Edges {
		from, to := by[e.From], by[e.To]
		if e.To == "" {
			to = add(&box{kind: boxAnywhere, name: "anywhere", path: path + posthouse.EscapeName(e.From) + ">anywhere", shape: "anywhere"})
		}
		if from == nil || to == nil {
			continue
		}
		l := line{from: from, to: to, dashed: e.Kind != "edge" && e.Kind != "join"}
		if e.Kind != "edge" {
			l.label = e.Kind
		}
		d.lines = append(d.lines, l)
	}
	return d
}

// first returns the box at which lines to b end.
func (b *box) first() *box {
	if b.sub != nil {
		return b.sub.start
	}
	return b
}

// last returns the box at which lines from b begin.
func (b *box) last() *box {
	if b.sub != nil {
		return b.sub.end
	}
	return b
}
