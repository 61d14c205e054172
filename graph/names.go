package graph

import (
	"iter"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
)

// escapePath returns a path that a caller gives, name by name: one that cannot
// be a spelling is taken for a name.
func escapePath(path string) string {
	if !strings.ContainsAny(path, "%+#>") {
		return path
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		if _, err := posthouse.UnescapeName(name); err != nil {
			names[i] = frontier.EscapeName(name)
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
				nodes[escapePath(path)] = frontier.EscapeName(name)
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
		return frontier.EscapeName(done[0].task.node.name)
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
		n = frontier.EscapeName(n)
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
