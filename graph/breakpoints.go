package graph

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
)

// breakpoints say where one call stops, besides where its graph does: by node. Nil is
// nowhere.
type breakpoints struct{ before, after []bool }

// breakpointsOf returns where a call's options stop.
func (a *plan[S]) breakpointsOf(o *RunOptions) (s breakpoints, err error) {
	if s.before, err = a.Set("InterruptBefore", o.InterruptBefore, a.Real); err != nil {
		return s, err
	}
	s.after, err = a.Set("InterruptAfter", o.InterruptAfter, func(name string) string { return name })
	return s, err
}

// stopsBefore reports whether a run stops before a node, stopsAfter behind it.
func (n *node[S]) stopsBefore(b *breakpoints) bool {
	return n.Before || b.before != nil && b.before[n.Index]
}

func (n *node[S]) stopsAfter(b *breakpoints) bool {
	return n.After || b.after != nil && b.after[n.Index]
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

// hasBreakpoints reports whether there is a static interrupt in the graph, at any
// depth.
func (a *plan[S]) hasBreakpoints() bool {
	return slices.ContainsFunc(a.order, func(n *node[S]) bool { return n.Before || n.After || n.sub != nil && n.sub.hasBreakpoints() })
}

// A budget is how many steps a run may take, and which it took.
type budget struct {
	limit   int
	steps   int   // so far
	lastRan []int // by node: the step in which it last ran, counted from 1
}

func (b *budget) isSpent() bool { return b.steps >= b.limit }

// commitOverrun stops a run that reached its limit before n.
func (s *step[S]) commitOverrun(ctx context.Context, n *node[S]) error {
	r := s.run
	e := &RecursionError{Graph: r.app.name, Thread: r.sess.Thread(), Limit: r.budget.limit, Next: n.Name, Cycle: cycleTo(&r.budget, r.app.order, n)}
	if r.subrun != nil {
		if err := r.record.flush(ctx); err != nil {
			return errors.Join(e, err)
		}
		return e
	}
	r.record.newChange(posthouse.KindFail, posthouse.StatusFailed, "").Error = e.Error()
	if err := r.record.commit(ctx, nil); err != nil {
		return errors.Join(e, err)
	}
	return e
}

// cycleTo returns the nodes that ran since n last did, from n on, in order.
func cycleTo[S any](b *budget, order []*node[S], n *node[S]) []string {
	first := b.lastRan[n.Index]
	if first == 0 {
		return nil
	}
	var in []*node[S]
	for _, m := range order {
		if b.lastRan[m.Index] >= first {
			in = append(in, m)
		}
	}
	slices.SortFunc(in, func(x, y *node[S]) int { return b.lastRan[x.Index] - b.lastRan[y.Index] })
	return nodeNames(in)
}

func nodeNames[S any](nodes []*node[S]) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	return names
}
