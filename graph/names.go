package graph

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/frontier"
)

// joinNodes names the nodes of a step, each once and escaped, as in "draft+check".
func joinNodes(done []*outcome) string {
	if len(done) == 1 {
		return posthouse.EscapeName(done[0].task.node.Name)
	}
	return frontier.JoinNames(frontier.MapNames(done, func(o *outcome) string { return o.task.node.Name }))
}

// labelEffect is the label of a node's checkpoint with the NodeOptions.Effect of what
// completed, as in "external" or "read+write".
const labelEffect = "effect"

// checkLabels refuses labels that graphs set themselves.
func checkLabels(labels map[string]string) error {
	for _, own := range []string{labelEffect, calls.LabelParent, calls.LabelBranch, calls.LabelCall, calls.LabelCalled} {
		if _, ok := labels[own]; ok {
			return posthouse.Invalid("Labels", "%q is set by graphs themselves", own)
		}
	}
	return nil
}

func effects(done []*outcome) map[string]string {
	var seen []posthouse.Effect
	for _, o := range done {
		if e := o.task.node.opt.Effect; e != posthouse.EffectUnset && !slices.Contains(seen, e) {
			seen = append(seen, e)
		}
	}
	if seen == nil {
		return nil
	}
	slices.Sort(seen)
	return map[string]string{labelEffect: strings.Join(frontier.MapNames(seen, posthouse.Effect.String), "+")}
}
