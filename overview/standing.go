package overview

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A Standing says where the threads of a program are that have not ended.
type Standing struct {
	Nodes    []NodeCount    `json:"nodes" doc:"where they are, by the node's name"`
	Versions []VersionCount `json:"versions" doc:"which versions of the program they began with or were moved to, the one with the most first"`
	More     bool           `json:"more,omitempty" doc:"there are more threads than were looked at: the newest are counted"`
}

// A NodeCount is how many threads have a branch at a node.
type NodeCount struct {
	Node     string                   `json:"node" doc:"as GET /api/threads takes it"`
	Threads  int                      `json:"threads" doc:"how many; one with branches of two statuses there is in both statuses, and counts once here"`
	Statuses map[posthouse.Status]int `json:"statuses" doc:"of these branches, with how many threads: each is what GET /api/threads finds with node and status"`
}

// A VersionCount is how many threads have a branch of a version that has not ended.
type VersionCount struct {
	Version string `json:"version" doc:"the fingerprint, as GET /api/threads takes it"`
	Threads int    `json:"threads" doc:"how many"`
}

// Stand counts where the threads of a program are, over at most [MaxWalk] of its newest threads and
// the heads of at most [MaxRead] of them.
func Stand(ctx context.Context, l *ledger.Ledger, program string) (*Standing, error) {
	type place struct {
		node   string
		status posthouse.Status
	}
	places, threads, versions := map[place]int{}, map[string]int{}, map[string]int{}
	s := &Standing{Nodes: []NodeCount{}, Versions: []VersionCount{}}
	looked, read := 0, 0
	for t, err := range l.Threads(ctx, posthouse.ThreadQuery{Graph: program, Newest: true}) {
		if err != nil {
			return nil, err
		}
		if looked == MaxWalk || read == MaxRead {
			s.More = true
			break
		}
		looked++
		if len(openBranches(t)) == 0 {
			continue
		}
		read++
		heads, err := openHeads(ctx, l, t)
		if err != nil {
			return nil, err
		}
		here, nodes, of := map[place]bool{}, map[string]bool{}, map[string]bool{}
		for _, h := range heads {
			for _, n := range nodesOf(h) {
				here[place{n, h.Status}], nodes[n] = true, true
			}
			if h.Fingerprint != "" {
				of[h.Fingerprint] = true
			}
		}
		for p := range here {
			places[p]++
		}
		for n := range nodes {
			threads[n]++
		}
		for v := range of {
			versions[v]++
		}
	}
	byNode := map[string]map[posthouse.Status]int{}
	for p, n := range places {
		if byNode[p.node] == nil {
			byNode[p.node] = map[posthouse.Status]int{}
		}
		byNode[p.node][p.status] = n
	}
	for _, n := range slices.Sorted(maps.Keys(byNode)) {
		s.Nodes = append(s.Nodes, NodeCount{n, threads[n], byNode[n]})
	}
	for v, n := range versions {
		s.Versions = append(s.Versions, VersionCount{v, n})
	}
	slices.SortFunc(s.Versions, func(a, b VersionCount) int {
		return cmp.Or(cmp.Compare(b.Threads, a.Threads), cmp.Compare(a.Version, b.Version))
	})
	return s, nil
}
