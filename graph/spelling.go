package graph

import (
	"strings"

	"github.com/posthouse/posthouse"
)

// spelled returns a node's name as it stands among others: in the Node of a
// checkpoint, in paths and labels, in the names of executions. The agenda has
// names as they are.
func spelled(name string) string { return posthouse.EscapeName(name) }

// plain returns the name that is spelled so, or s itself if it is no single one.
func plain(s string) string {
	if name, err := posthouse.UnescapeName(s); err == nil {
		return name
	}
	return s
}

// spelledPath returns a path that a caller gives, name by name: one that cannot
// be a spelling is taken for a name.
func spelledPath(path string) string {
	if !strings.ContainsAny(path, "%+#>") {
		return path
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		if _, err := posthouse.UnescapeName(name); err != nil {
			names[i] = spelled(name)
		}
	}
	return strings.Join(names, "/")
}

// spelledMigrations returns a copy in which nodes have paths as on record, and
// new names that may stand in one.
func spelledMigrations(ms []Migration) []Migration {
	out := make([]Migration, len(ms))
	for i, m := range ms {
		if m.Nodes != nil {
			nodes := make(map[string]string, len(m.Nodes))
			for path, name := range m.Nodes {
				nodes[spelledPath(path)] = spelled(name)
			}
			m.Nodes = nodes
		}
		out[i] = m
	}
	return out
}
