// Package progress finds how far a thread is in its graph, from what is on record.
package progress

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/child"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/ledger"
)

// A Mark says how far a thread is at a node.
type Mark string

// The marks.
const (
	None    Mark = ""
	Done    Mark = "done"
	Next    Mark = "next"
	Waiting Mark = "waiting"
	Failed  Mark = "failed"
)

type marks map[string]Mark

// Of returns the marks of a checkpoint by the paths of nodes, after migrations.
func Of(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint, ms []migrate.Migration) (map[string]Mark, error) {
	marks := marks{}
	if err := marks.markDone(ctx, l, c, ms); err != nil {
		return nil, err
	}
	at := Next
	if c.Status == posthouse.StatusWaiting {
		at = Waiting
	}
	stands, err := stepProgressOf(ctx, l, c)
	if err != nil {
		return nil, err
	}
	g, err := frontier.ReadFrontier(c.Next, c.Program, frontier.PlanPart)
	if err != nil {
		return nil, err
	}
	for i := range g.Tasks {
		marks[migrate.Nodes(ms, posthouse.EscapeName(g.Tasks[i].Node))] = Next
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
			marks[migrate.Path(ms, unlabelled(path)+"/"+posthouse.EscapeName(in.Tasks[i].Node))] = at
		}
		stands.count(unlabelled(path)+"/", &in)
	}
	if mark := map[posthouse.Status]Mark{posthouse.StatusWaiting: Waiting, posthouse.StatusFailed: Failed}[c.Status]; mark != None {
		for _, n := range pathsOf(ms, c.Node) {
			marks[n] = mark
		}
	}
	for path, n := range stands.nodes {
		switch path = migrate.Path(ms, path); {
		case n.done == n.tasks:
			marks[path] = Done
		case !n.open && marks[path] == Waiting: // it has its answer
			marks[path] = Next
		}
	}
	return marks, nil
}

// A stepProgress is how far a thread came in the step after its head, by the paths
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
func stepProgressOf(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint) (*stepProgress, error) {
	s := &stepProgress{Progress: recorded.Progress{Head: &c.Header}, nodes: map[string]*nodeProgress{}}
	info, err := l.Thread(ctx, c.Thread)
	if errors.Is(err, posthouse.ErrNotFound) { // it was released
		return s, nil
	}
	s.Latest = err == nil && child.OnHead(info, c, "")
	if s.Latest {
		s.All, err = l.Core().Executions(ctx, &c.Header)
	}
	return s, err
}

func (s *stepProgress) count(within string, g *frontier.Frontier) {
	if !s.Latest {
		return
	}
	for i := range g.Tasks {
		path := within + posthouse.EscapeName(g.Tasks[i].Node)
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
func (marks marks) markDone(ctx context.Context, l *ledger.Ledger, c *posthouse.Checkpoint, ms []migrate.Migration) error {
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
				marks[n] = cmp.Or(marks[n], Done)
			}
		}
	}
	return nil
}

// pathsOf returns the nodes that made a checkpoint, with their new names.
func pathsOf(ms []migrate.Migration, node string) []string {
	within, names := frontier.SplitPath(unlabelled(node))
	return frontier.MapNames(strings.Split(names, "+"), func(name string) string { return migrate.Path(ms, within+name) })
}

// unlabelled returns a path without the numbers of tasks, as in "fetch#2/get".
func unlabelled(path string) string {
	names := frontier.MapNames(strings.Split(path, "/"), func(label string) string {
		name, _, _ := strings.Cut(label, "#")
		return name
	})
	return strings.Join(names, "/")
}
