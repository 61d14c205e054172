package frontier

import (
	"cmp"
	"iter"
	"strings"

	"github.com/posthouse/posthouse"
)

// SplitPath cuts a path before its last name. The first piece keeps its slash.
func SplitPath(path string) (within, name string) {
	i := strings.LastIndexByte(path, '/') + 1
	return path[:i], path[i:]
}

// EscapeName returns a node's name as it stands among others: in the Node of a
// checkpoint, in paths and labels, in the names of executions. The frontier has
// names as they are.
func EscapeName(name string) string { return posthouse.EscapeName(name) }

// UnescapeName returns the name that is spelled so, or s itself if it is no single one.
func UnescapeName(s string) string {
	if name, err := posthouse.UnescapeName(s); err == nil {
		return name
	}
	return s
}

// Names are, by the paths that nodes have now, and spelled like those, what their executions are called
// until the run parks or ends: as they were when it last did. A run that was
// lost may have come to any of them.
type Names map[string]string

// Of returns what executions of a node are called. One that got the name which
// another had is told apart from it.
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

// Renames are new names, spelled, of what is on record under old ones: of nodes, of nodes
// of the graph around behind "../", and of paths behind "/".
type Renames map[string]string

// Inside returns those of a subgraph by those of the whole. path is its name now.
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

// JoinNames names nodes, each once and escaped, as in "draft+check".
func JoinNames(nodes iter.Seq[string]) string {
	var names []string
	size := 0
	seen := map[string]bool{}
	for n := range nodes {
		n = EscapeName(n)
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
