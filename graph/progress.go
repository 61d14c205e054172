package graph

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

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
type Mark string

// The marks. Done counts from the thread's newest input.
const (
	MarkNone    Mark = ""
	MarkDone    Mark = "done"
	MarkNext    Mark = "next"
	MarkWaiting Mark = "waiting"
	MarkFailed  Mark = "failed"
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
	ms := a.migrationsFrom(c.Fingerprint)
	marks := Progress{}
	if err := marks.markDone(ctx, a.ledger, c, ms); err != nil {
		return nil, err
	}
	at := MarkNext
	if c.Status == posthouse.StatusWaiting {
		at = MarkWaiting
	}
	stands, err := a.stepProgressOf(ctx, c)
	if err != nil {
		return nil, err
	}
	g, err := frontier.ReadFrontier(c.Next, c.Program, frontier.PlanPart)
	if err != nil {
		return nil, err
	}
	for i := range g.Tasks {
		marks[migrate.Nodes(ms, frontier.EscapeName(g.Tasks[i].Node))] = MarkNext
	}
	stands.count("", &g)
	for _, name := range slices.Sorted(maps.Keys(c.Program)) {
		path, ok := strings.CutPrefix(name, frontier.PlanPart+"/")
		if !ok {
			continue
		}
		in, err := frontier.ReadFrontier(nil, c.Program, name)
		if err != nil {
			return nil, err
		}
		for i := range in.Tasks {
			marks[migrate.Path(ms, unlabelled(path)+"/"+frontier.EscapeName(in.Tasks[i].Node))] = at
		}
		stands.count(unlabelled(path)+"/", &in)
	}
	if mark := map[posthouse.Status]Mark{posthouse.StatusWaiting: MarkWaiting, posthouse.StatusFailed: MarkFailed}[c.Status]; mark != MarkNone {
		for _, n := range pathsOf(ms, c.Node) {
			marks[n] = mark
		}
	}
	for path, n := range stands.nodes {
		switch path = migrate.Path(ms, path); {
		case n.done == n.tasks:
			marks[path] = MarkDone
		case !n.open && marks[path] == MarkWaiting: // it has its answer
			marks[path] = MarkNext
		}
	}
	return marks, nil
}

// A stepProgress is how far a thread came in the step behind its head, by the paths
// of nodes.
type stepProgress struct {
	recorded.Progress
	nodes map[string]*nodeProgress
}

type nodeProgress struct {
	tasks, done int
	open        bool // one of them, or of those within it, waits for a gate
}

// stepProgressOf is empty for a checkpoint that is not its branch's head.
func (a *App[S]) stepProgressOf(ctx context.Context, c *posthouse.Checkpoint) (*stepProgress, error) {
	s := &stepProgress{Progress: recorded.Progress{Head: &c.Header}, nodes: map[string]*nodeProgress{}}
	info, err := a.ledger.Thread(ctx, c.Thread)
	if errors.Is(err, posthouse.ErrNotFound) { // it was released
		return s, nil
	}
	if s.Latest = err == nil && onHead(info, c, ""); s.Latest {
		s.All, err = a.ledger.Core().Executions(ctx, &c.Header)
	}
	return s, err
}

// count adds the tasks of a frontier.
func (s *stepProgress) count(within string, g *frontier.Frontier) {
	if !s.Latest {
		return
	}
	for i := range g.Tasks {
		path := within + frontier.EscapeName(g.Tasks[i].Node)
		n := s.nodes[path]
		if n == nil {
			n = &nodeProgress{}
			s.nodes[path] = n
		}
		n.tasks++
		if s.Step(g, i, recorded.Done) != nil {
			n.done++
		}
		x := s.Execution(g, i)
		if x == nil || !slices.ContainsFunc(x.Gates, func(g *posthouse.Gate) bool { return g.Decision == nil && g.Branch == s.Head.Branch }) {
			continue
		}
		for p := path; p != ""; p, _ = frontier.SplitPath(strings.TrimSuffix(p, "/")) {
			if n := s.nodes[strings.TrimSuffix(p, "/")]; n != nil {
				n.open = true
			}
		}
	}
}

// markDone marks the nodes that completed on the way to a checkpoint.
func (marks Progress) markDone(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint, ms []migrate.Migration) error {
	line := map[posthouse.ID]*posthouse.Header{}
	for h, err := range l.List(ctx, posthouse.Query{Thread: c.Thread, Generation: c.Generation, To: c.Seq}) {
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
func pathsOf(ms []migrate.Migration, node string) []string {
	within, names := frontier.SplitPath(unlabelled(node))
	return mapNames(strings.Split(names, "+"), func(name string) string { return migrate.Path(ms, within+name) })
}

// unlabelled returns a path without the numbers of tasks, as in "fetch#2/get".
func unlabelled(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i], _, _ = strings.Cut(p, "#")
	}
	return strings.Join(parts, "/")
}
