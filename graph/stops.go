package graph

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
)

// stops say where one call stops, besides where its graph does: by node. Nil is
// nowhere.
type stops struct{ before, after []bool }

// stopsOf returns where a call's options stop.
func (a *App[S]) stopsOf(o *RunOptions) (s stops, err error) {
	if s.before, err = a.marked("InterruptBefore", o.InterruptBefore, a.real); err != nil {
		return s, err
	}
	s.after, err = a.marked("InterruptAfter", o.InterruptAfter, func(name string) string { return name })
	return s, err
}

// marked returns which nodes an option names, nil for none.
func (a *App[S]) marked(field string, names []string, real func(string) string) ([]bool, error) {
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
	return n.before || r.stops.before != nil && r.stops.before[n.index]
}
func (r *run[S]) stopsAfter(n *node[S]) bool {
	return n.after || r.stops.after != nil && r.stops.after[n.index]
}

// stopLast puts End on the agenda of a subgraph that ends with nodes to stop
// after: the graph around it would go on.
func (r *run[S]) stopLast(ctx context.Context, done []*outcome[S]) error {
	after := func(o *outcome[S]) bool { return r.stopsAfter(o.task.node) }
	if len(r.agenda.tasks) > 0 || !slices.ContainsFunc(done, after) {
		return nil
	}
	called, err := r.nest != nil, error(nil)
	if !called && r.sess.Branch() == posthouse.MainBranch {
		called, err = isCalled(context.WithoutCancel(ctx), r.app.ledger, r.sess.Thread()) // what completed is kept
	}
	if called {
		r.agenda.tasks = []target{{node: End}}
	}
	return err
}

// status is that of a step which tasks completed; the agenda is what is next.
func (r *run[S]) status(done []*outcome[S]) posthouse.Status {
	if len(r.agenda.tasks) == 0 {
		return posthouse.StatusDone
	}
	for _, o := range done {
		if r.stopsAfter(o.task.node) {
			return posthouse.StatusInterrupted
		}
	}
	for i := range r.agenda.tasks {
		if t := &r.agenda.tasks[i]; t.edges || t.node != End && r.stopsBefore(r.app.node(t)) {
			return posthouse.StatusInterrupted
		}
	}
	return posthouse.StatusRunning
}
