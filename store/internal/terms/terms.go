// Package terms hashes the fields of checkpoints by which lists find them: run, graph,
// node, agent, labels, and statuses other than running, which most steps have.
//
// Two values may share a hash, so match what an index of terms finds with the query. The
// hashes are stored and never change.
package terms

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// The field that a term is about.
const (
	run    = 'r'
	graph  = 'g'
	node   = 'n'
	agent  = 'a'
	label  = 'l'
	status = 's'
)

func term(field byte, name, value string) int64 {
	var room [128]byte
	b := append(append(room[:0], field), name...)
	b = append(append(b, 0), value...)
	h := fnv.New64a()
	_, _ = h.Write(b)
	return int64(h.Sum64())
}

// Hash returns a hash of a name, for an index of names.
func Hash(name string) int64 { return term('c', name, "") }

// Of returns the terms by which lists find the checkpoint, sorted, each once. A node has
// one for each way in which [posthouse.Query] names it.
func Of(h *posthouse.Header) []int64 { return Append(make([]int64, 0, 8), h) }

// Append appends what Of returns.
func Append(all []int64, h *posthouse.Header) []int64 {
	before := len(all)
	all = appendFields(all, h)
	if h.Node != "" {
		all = append(all, term(node, h.Node, ""))
		if strings.ContainsAny(h.Node, "+%") {
			for written := range strings.SplitSeq(h.Node, "+") {
				all = append(all, term(node, written, ""))
				if name, err := posthouse.UnescapeName(written); err == nil {
					all = append(all, term(node, name, ""))
				}
			}
		}
	}
	slices.Sort(all[before:])
	return all[:before+len(slices.Compact(all[before:]))]
}

// In returns the terms that every checkpoint has that the query matches.
func In(q *posthouse.Query) []int64 {
	h := posthouse.Header{Run: q.Run, Graph: q.Graph, Agent: q.Agent, Status: q.Status}
	if q.Label != "" {
		h.Labels = map[string]string{q.Label: q.LabelValue}
	}
	ts := appendFields(nil, &h)
	if q.Node != "" {
		ts = append(ts, term(node, q.Node, ""))
	}
	return ts
}

func appendFields(ts []int64, h *posthouse.Header) []int64 {
	rare := h.Status
	if rare == posthouse.StatusRunning {
		rare = ""
	}
	for _, f := range [...]struct {
		field byte
		value string
	}{{run, h.Run}, {graph, h.Graph}, {agent, h.Agent}, {status, string(rare)}} {
		if f.value != "" {
			ts = append(ts, term(f.field, f.value, ""))
		}
	}
	for k, v := range h.Labels {
		ts = append(ts, term(label, k, v))
	}
	return ts
}
