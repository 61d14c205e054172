package graph

import (
	"github.com/posthouse/posthouse"
)

// breakpoints say where one call stops, besides where its graph does: by node. Nil is
// nowhere.
type breakpoints struct{ before, after []bool }

// breakpointsOf returns where a call's options stop.
func (a *topology[S]) breakpointsOf(o *RunOptions) (s breakpoints, err error) {
	if s.before, err = a.nodeSet("InterruptBefore", o.InterruptBefore, a.real); err != nil {
		return s, err
	}
	s.after, err = a.nodeSet("InterruptAfter", o.InterruptAfter, func(name string) string { return name })
	return s, err
}

// nodeSet returns which nodes an option names, nil for none.
func (a *topology[S]) nodeSet(field string, names []string, real func(string) string) ([]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	all := make([]bool, len(a.order))
	for _, name := range names {
		switch n := a.nodes[real(name)]; {
		case name == "*":
			for i := range all {
				all[i] = true
			}
		case n == nil:
			return nil, posthouse.Invalid(field, "names %q, which is not a node of graph %q", name, a.name)
		default:
			all[n.index] = true
		}
	}
	return all, nil
}

// stopsBefore reports whether a run stops before a node, stopsAfter behind it.
func (n *node[S]) stopsBefore(b *breakpoints) bool {
	return n.before || b.before != nil && b.before[n.index]
}

func (n *node[S]) stopsAfter(b *breakpoints) bool {
	return n.after || b.after != nil && b.after[n.index]
}

// statusBehind is that of a step which tasks completed; the frontier is what is next.
func (r *run[S]) statusBehind(done []*outcome[S]) posthouse.Status {
	if len(r.frontier.Tasks) == 0 {
		return posthouse.StatusDone
	}
	for _, o := range done {
		if o.task.node.stopsAfter(&r.breakpoints) {
			return posthouse.StatusInterrupted
		}
	}
	for i := range r.frontier.Tasks {
		if t := &r.frontier.Tasks[i]; t.Edges || t.Node != End && r.app.node(t).stopsBefore(&r.breakpoints) {
			return posthouse.StatusInterrupted
		}
	}
	return posthouse.StatusRunning
}
