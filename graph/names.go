package graph

import (
	"iter"
	"strings"

	"github.com/posthouse/posthouse"
)

// escapeName returns a node's name as it stands among others: in the Node of a
// checkpoint, in paths and labels, in the names of executions. The frontier has
// names as they are.
func escapeName(name string) string { return posthouse.EscapeName(name) }

// unescapeName returns the name that is spelled so, or s itself if it is no single one.
func unescapeName(s string) string {
	if name, err := posthouse.UnescapeName(s); err == nil {
		return name
	}
	return s
}

// escapePath returns a path that a caller gives, name by name: one that cannot
// be a spelling is taken for a name.
func escapePath(path string) string {
	if !strings.ContainsAny(path, "%+#>") {
		return path
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		if _, err := posthouse.UnescapeName(name); err != nil {
			names[i] = escapeName(name)
		}
	}
	return strings.Join(names, "/")
}

// escapeMigrations returns a copy in which nodes have paths as on record, and
// new names that may stand in one.
func escapeMigrations(ms []Migration) []Migration {
	out := make([]Migration, len(ms))
	for i, m := range ms {
		if m.Nodes != nil {
			nodes := make(map[string]string, len(m.Nodes))
			for path, name := range m.Nodes {
				nodes[escapePath(path)] = escapeName(name)
			}
			m.Nodes = nodes
		}
		out[i] = m
	}
	return out
}

// joinNodes names the nodes of a step, each once and spelled, as in "draft+check".
func joinNodes[S any](done []*outcome[S]) string {
	if len(done) == 1 {
		return escapeName(done[0].task.node.name)
	}
	return joinNames(func(yield func(string) bool) {
		for _, o := range done {
			if !yield(o.task.node.name) {
				return
			}
		}
	})
}

func joinNames(nodes iter.Seq[string]) string {
	var names []string
	size := 0
	seen := map[string]bool{}
	for n := range nodes {
		n = escapeName(n)
		if seen[n] {
			continue
		}
		if size += len(n) + 1; size > posthouse.MaxID-3 {
			names = append(names, "...")
			break
		}
		seen[n] = true
		names = append(names, n)
	}
	return strings.Join(names, "+")
}
