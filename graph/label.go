package graph

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// Labels that graphs put on checkpoints.
const (
	labelEffect = "effect"       // of a node's: NodeOptions.Effect of what completed, as in "external" or "read+write"
	labelParent = "parent"       // of one that begins the thread of a subgraph: the thread that called it
	labelBranch = "parentBranch" // its branch, unless that is main
	labelCall   = "call"         // and the execution that did
	labelCalled = "called"       // the thread that was called: a fork and a copy take labels along
)

// checkLabels refuses those that would be taken for the graph's own.
func checkLabels(labels map[string]string) error {
	for _, own := range []string{labelEffect, labelParent, labelBranch, labelCall, labelCalled} {
		if _, ok := labels[own]; ok {
			return invalid("Labels", "%q is set by graphs themselves", own)
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
