package graph

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// PictureOptions say what is drawn. Nil is the zero value: the graph alone.
type PictureOptions struct {
	Thread     string       // draw in where this thread stands; with Checkpoint: its own is found
	Branch     string       // default main
	Checkpoint posthouse.ID // or how it stood at this checkpoint
	LeftRight  bool         // from left to right; SVG is always drawn downwards
}

// A Mark is what a picture shows of a node in a thread.
type Mark string

// The marks. Done counts from the thread's newest input.
const (
	MarkNone    Mark = ""
	MarkDone    Mark = "done"
	MarkNext    Mark = "next"
	MarkWaiting Mark = "waiting"
	MarkFailed  Mark = "failed"
)

// Mermaid returns the graph as the text of a Mermaid flowchart. Routes, maps
// and commands are dashed and say what they are; subgraphs are clusters. The
// text is the same for the same graph and thread. [posthouse.ErrNotFound] for
// an unknown thread or checkpoint.
func (a *App[S]) Mermaid(ctx context.Context, o *PictureOptions) (string, error) {
	d, err := a.draw(ctx, o)
	if err != nil {
		return "", err
	}
	return d.mermaid(), nil
}

// DOT is [App.Mermaid] for Graphviz.
func (a *App[S]) DOT(ctx context.Context, o *PictureOptions) (string, error) {
	d, err := a.draw(ctx, o)
	if err != nil {
		return "", err
	}
	return d.dot(), nil
}

// SVG is [App.Mermaid] as a picture of its own, without scripts, styles from
// elsewhere, or links.
func (a *App[S]) SVG(ctx context.Context, o *PictureOptions) (string, error) {
	d, err := a.draw(ctx, o)
	if err != nil {
		return "", err
	}
	return d.svg(), nil
}

func (a *App[S]) draw(ctx context.Context, o *PictureOptions) (*drawing, error) {
	if o == nil {
		o = &PictureOptions{}
	}
	var marks map[string]Mark
	if o.Thread != "" || o.Branch != "" || o.Checkpoint != "" {
		var err error
		if marks, err = a.marks(ctx, o); err != nil {
			return nil, err
		}
	}
	n := 0
	d := newDrawing(a.Shape(), "", marks, &n)
	d.leftRight = o.LeftRight
	return d, nil
}

// marks returns what is to be shown of nodes, by their paths.
func (a *App[S]) marks(ctx context.Context, o *PictureOptions) (map[string]Mark, error) {
	var c *posthouse.Checkpoint
	var err error
	if o.Checkpoint != "" && o.Thread == "" {
		c, err = a.ledger.Get(ctx, o.Checkpoint)
	} else {
		c, err = engine.StateOf(ctx, a.ledger, o.Thread, engine.StateOptions{Branch: o.Branch, Checkpoint: o.Checkpoint})
	}
	if err == nil {
		err = a.owns(&c.Header)
	}
	if err != nil {
		return nil, err
	}
	ms := a.migrationsFrom(c.Fingerprint)
	marks := map[string]Mark{}
	if err := a.markDone(ctx, c, ms, marks); err != nil {
		return nil, err
	}
	at := MarkNext
	if c.Status == posthouse.StatusWaiting {
		at = MarkWaiting
	}
	stands, err := a.standing(ctx, c)
	if err != nil {
		return nil, err
	}
	g, err := readAgenda(c.Next, c.Program, planPart)
	if err != nil {
		return nil, err
	}
	for i := range g.tasks {
		marks[rename(ms, spelled(g.tasks[i].node))] = MarkNext
	}
	stands.count("", &g)
	for _, name := range sortedKeys(c.Program) {
		path, ok := strings.CutPrefix(name, planPart+"/")
		if !ok {
			continue
		}
		in, err := readAgenda(nil, c.Program, name)
		if err != nil {
			return nil, err
		}
		for i := range in.tasks {
			marks[renamePath(ms, unlabelled(path)+"/"+spelled(in.tasks[i].node))] = at
		}
		stands.count(unlabelled(path)+"/", &in)
	}
	if mark := map[posthouse.Status]Mark{posthouse.StatusWaiting: MarkWaiting, posthouse.StatusFailed: MarkFailed}[c.Status]; mark != MarkNone {
		for _, n := range pathsOf(ms, c.Node) {
			marks[n] = mark
		}
	}
	for path, n := range stands.nodes {
		switch path = renamePath(ms, path); {
		case n.done == n.tasks:
			marks[path] = MarkDone
		case !n.open && marks[path] == MarkWaiting: // it has its answer
			marks[path] = MarkNext
		}
	}
	return marks, nil
}

// A standing is how far a thread came in the step behind its head, by the paths
// of nodes.
type standing struct {
	progress
	nodes map[string]*nodeStanding
}

type nodeStanding struct {
	tasks, done int
	open        bool // one of them, or of those within it, waits for a gate
}

// standing is empty for a checkpoint that is not its branch's head.
func (a *App[S]) standing(ctx context.Context, c *posthouse.Checkpoint) (*standing, error) {
	s := &standing{progress: progress{head: &c.Header}, nodes: map[string]*nodeStanding{}}
	info, err := a.ledger.Thread(ctx, c.Thread)
	if errors.Is(err, posthouse.ErrNotFound) { // it was released
		return s, nil
	}
	if s.latest = err == nil && onHead(info, c, ""); s.latest {
		s.all, err = a.ledger.Executions(ctx, &c.Header)
	}
	return s, err
}

// count adds the tasks of an agenda.
func (s *standing) count(within string, g *agenda) {
	if !s.latest {
		return
	}
	for i := range g.tasks {
		path := within + spelled(g.tasks[i].node)
		n := s.nodes[path]
		if n == nil {
			n = &nodeStanding{}
			s.nodes[path] = n
		}
		n.tasks++
		if s.step(g, i, recordDone) != nil {
			n.done++
		}
		x := s.execution(g, i)
		if x == nil || !slices.ContainsFunc(x.Gates, func(g *posthouse.Gate) bool { return g.Decision == nil && g.Branch == s.head.Branch }) {
			continue
		}
		for p := path; p != ""; p, _ = splitPath(strings.TrimSuffix(p, "/")) {
			if n := s.nodes[strings.TrimSuffix(p, "/")]; n != nil {
				n.open = true
			}
		}
	}
}

// markDone marks the nodes that completed on the way to a checkpoint.
func (a *App[S]) markDone(ctx context.Context, c *posthouse.Checkpoint, ms []Migration, marks map[string]Mark) error {
	line := map[posthouse.ID]*posthouse.Header{}
	for h, err := range a.ledger.List(ctx, posthouse.Query{Thread: c.Thread, Generation: c.Generation, To: c.Seq}) {
		if err != nil {
			return err
		}
		line[h.ID] = h
	}
	for h := &c.Header; h != nil && h.Kind != posthouse.KindInput; h = line[h.Parent] {
		switch h.Kind {
		case posthouse.KindNode, posthouse.KindUpdate, posthouse.KindInner:
			for _, n := range pathsOf(ms, h.Node) {
				marks[n] = cmp.Or(marks[n], MarkDone)
			}
		}
	}
	return nil
}

// pathsOf returns the nodes that made a checkpoint, behind migrations.
func pathsOf(ms []Migration, node string) []string {
	within, names := splitPath(unlabelled(node))
	return each(strings.Split(names, "+"), func(name string) string { return renamePath(ms, within+name) })
}

// unlabelled returns a path without the numbers of tasks, as in "fetch#2/get".
func unlabelled(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i], _, _ = strings.Cut(p, "#")
	}
	return strings.Join(parts, "/")
}

// A drawing is a graph to be written down. Boxes are numbered through all
// clusters.
type drawing struct {
	name      string
	boxes     []*box
	lines     []line
	leftRight bool
}

type boxKind uint8

const (
	boxNode boxKind = iota
	boxStart
	boxEnd
	boxAnywhere
	boxSub
)

type box struct {
	id    int
	kind  boxKind
	name  string
	note  string // a second line
	round bool   // it decides where it leads
	mark  Mark
	sub   *drawing

	place // of a layout
}

type line struct {
	from, to *box
	label    string
	dashed   bool
}

func newDrawing(s *Shape, path string, marks map[string]Mark, n *int) *drawing {
	d := &drawing{name: s.Name}
	add := func(b *box) *box {
		b.id = *n
		*n++
		d.boxes = append(d.boxes, b)
		return b
	}
	by := map[string]*box{Start: add(&box{kind: boxStart, name: "start"})}
	for _, v := range s.Nodes {
		b := add(&box{name: v.Name, round: v.Kind == "command", mark: marks[path+spelled(v.Name)]})
		switch {
		case v.Sub != nil:
			b.kind = boxSub
			b.sub = newDrawing(v.Sub, path+spelled(v.Name)+"/", marks, n)
		case v.Kind == "task":
			b.note = "task"
		case v.Defer:
			b.note = "deferred"
		}
		by[v.Name] = b
	}
	by[End] = add(&box{kind: boxEnd, name: "end"})
	for _, e := range s.Edges {
		from, to := by[e.From], by[e.To]
		if e.To == "" {
			to = add(&box{kind: boxAnywhere, name: "anywhere"})
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

// first and last are where lines to and from a box are tied.
func (b *box) first() *box {
	if b.sub != nil {
		return b.sub.boxes[0].first()
	}
	return b
}

func (b *box) last() *box {
	if b.sub == nil {
		return b
	}
	for _, in := range b.sub.boxes {
		if in.kind == boxEnd {
			return in
		}
	}
	return b.sub.boxes[0]
}
