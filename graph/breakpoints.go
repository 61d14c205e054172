package graph

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
)

// breakpoints say where one call stops, besides where its graph does: by node. Nil is
// nowhere.
type breakpoints struct{ before, after []bool }

// breakpointsOf returns where a call's options stop.
func (a *App[S]) breakpointsOf(o *RunOptions) (s breakpoints, err error) {
	if s.before, err = a.nodeSet("InterruptBefore", o.InterruptBefore, a.real); err != nil {
		return s, err
	}
	s.after, err = a.nodeSet("InterruptAfter", o.InterruptAfter, func(name string) string { return name })
	return s, err
}

// nodeSet returns which nodes an option names, nil for none.
func (a *App[S]) nodeSet(field string, names []string, real func(string) string) ([]bool, error) {
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
			return nil, invalid(field, "names %q, which is not a node of graph %q", name, a.name)
		default:
			all[n.index] = true
		}
	}
	return all, nil
}

// stopsBefore reports whether the run stops before a node, stopsAfter behind it.
func (r *run[S]) stopsBefore(n *node[S]) bool {
	return n.before || r.breakpoints.before != nil && r.breakpoints.before[n.index]
}
func (r *run[S]) stopsAfter(n *node[S]) bool {
	return n.after || r.breakpoints.after != nil && r.breakpoints.after[n.index]
}

// keepEndPending puts End on the frontier of a subgraph that ends with nodes to stop
// after: the graph around it would go on.
func (r *run[S]) keepEndPending(ctx context.Context, done []*outcome[S]) error {
	after := func(o *outcome[S]) bool { return r.stopsAfter(o.task.node) }
	if len(r.frontier.tasks) > 0 || !slices.ContainsFunc(done, after) {
		return nil
	}
	called, err := r.subrun != nil, error(nil)
	if !called && r.sess.Branch() == posthouse.MainBranch {
		called, err = isCalled(context.WithoutCancel(ctx), r.app.ledger, r.sess.Thread()) // what completed is kept
	}
	if called {
		r.frontier.tasks = []target{{node: End}}
	}
	return err
}

// statusBehind is that of a step which tasks completed; the frontier is what is next.
func (r *run[S]) statusBehind(done []*outcome[S]) posthouse.Status {
	if len(r.frontier.tasks) == 0 {
		return posthouse.StatusDone
	}
	for _, o := range done {
		if r.stopsAfter(o.task.node) {
			return posthouse.StatusInterrupted
		}
	}
	for i := range r.frontier.tasks {
		if t := &r.frontier.tasks[i]; t.edges || t.node != End && r.stopsBefore(r.app.node(t)) {
			return posthouse.StatusInterrupted
		}
	}
	return posthouse.StatusRunning
}
