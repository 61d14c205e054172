package graph

import (
	"iter"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
)

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
