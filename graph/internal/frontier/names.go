package frontier

import (
	"cmp"
	"strings"

	"github.com/posthouse/posthouse"
)

// SplitPath cuts a path before its last name. The first piece keeps its slash.
func SplitPath(path string) (within, name string) {
	i := strings.LastIndexByte(path, '/') + 1
	return path[:i], path[i:]
}

// UnescapeName returns the name that s escapes, or s itself if it is not one name.
func UnescapeName(s string) string {
	if name, err := posthouse.UnescapeName(s); err == nil {
		return name
	}
	return s
}

// Names are what executions of nodes are called, by the paths that the nodes have now.
// Until the run parks or ends they are the names of when it last did, since a lost run
// may have begun any of them. Names and paths are escaped.
type Names map[string]string

// Of returns what executions of a node are called. A node that got the name which
// another one had gets a name of its own.
func (n Names) Of(path string) string {
	within, name := SplitPath(path)
	if was, ok := n[path]; ok {
		return was
	}
	for other, was := range n {
		if at, _ := SplitPath(other); was == name && at == within {
			return name + "~"
		}
	}
	return name
}

// Renames are the new names of what is on record under old ones. Keys are nodes, nodes
// of the graph around ("../name"), and paths ("/path"). All are escaped.
type Renames map[string]string

// Inside returns the renames of the subgraph that has a path now.
func (r Renames) Inside(path string) Renames {
	around, _ := SplitPath(path)
	all := Renames{}
	for old, now := range r {
		if old, ok := strings.CutPrefix(old, "/"); ok {
			_, was := SplitPath(old)
			within, name := SplitPath(now)
			all["/"+old] = now
			if within == path+"/" {
				all[was] = name
			}
			if within == around {
				all["../"+was] = name
			}
		}
	}
	return all
}

// Node returns what a node on record is called now.
func (r Renames) Node(old string) string { return cmp.Or(r[old], old) }

// MapNames returns the name of each element, nil for nil.
func MapNames[T any](all []T, name func(T) string) []string {
	if all == nil {
		return nil
	}
	names := make([]string, len(all))
	for i, x := range all {
		names[i] = name(x)
	}
	return names
}

// JoinNames names nodes, each once and escaped, as in "draft+check".
func JoinNames(nodes []string) string {
	var names []string
	size := 0
	seen := map[string]bool{}
	for _, n := range nodes {
		n = posthouse.EscapeName(n)
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
