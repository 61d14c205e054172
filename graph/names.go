package graph

import (
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
