package graph

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/frontier"
)

// joinNodes names the nodes of a step, each once and spelled, as in "draft+check".
func joinNodes[S any](done []*outcome[S]) string {
	if len(done) == 1 {
		return frontier.EscapeName(done[0].task.node.Name)
	}
	return frontier.JoinNames(func(yield func(string) bool) {
		for _, o := range done {
			if !yield(o.task.node.Name) {
				return
			}
		}
	})
}

// labelEffect is the label of a node's checkpoint: NodeOptions.Effect of what
// completed, as in "external" or "read+write".
const labelEffect = "effect"

// checkLabels refuses those that would be taken for the graph's own.
func checkLabels(labels map[string]string) error {
	for _, own := range []string{labelEffect, calls.LabelParent, calls.LabelBranch, calls.LabelCall, calls.LabelCalled} {
		if _, ok := labels[own]; ok {
			return posthouse.Invalid("Labels", "%q is set by graphs themselves", own)
		}
	}
	return nil
}

// effects returns the labels of a checkpoint that these tasks completed.
func effects[S any](done []*outcome[S]) map[string]string {
	var seen []posthouse.Effect
	for _, o := range done {
		if e := o.task.node.opt.Effect; e != posthouse.EffectUnset && !slices.Contains(seen, e) {
			seen = append(seen, e)
		}
	}
	if len(seen) == 0 {
		return nil
	}
	slices.Sort(seen)
	names := make([]string, len(seen))
	for i, e := range seen {
		names[i] = e.String()
	}
	return map[string]string{labelEffect: strings.Join(names, "+")}
}
