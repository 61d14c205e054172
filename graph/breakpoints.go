package graph

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// breakpoints say before and after which nodes one call stops, in addition to its
// graph's own interrupts. Nil is nowhere.
type breakpoints struct{ before, after []bool }

func (a *plan) breakpointsOf(o *RunOptions) (s breakpoints, err error) {
	s.before, err = a.Set("InterruptBefore", o.InterruptBefore, a.Real)
	if err != nil {
		return s, err
	}
	s.after, err = a.Set("InterruptAfter", o.InterruptAfter, func(name string) string { return name })
	return s, err
}

func (n *node) stopsBefore(b *breakpoints) bool {
	return n.Before || b.before != nil && b.before[n.Index]
}

func (n *node) stopsAfter(b *breakpoints) bool {
	return n.After || b.after != nil && b.after[n.Index]
}

// statusBehind returns the status after a step that these tasks completed. The frontier
// is what is next.
func (r *run) statusBehind(done []*outcome) posthouse.Status {
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

// A budget is how many steps a run may take, and which it took.
type budget struct {
	limit   int
	steps   int   // so far
	lastRan []int // by node: the step in which it last ran, counted from 1
}

// commitOverrun stops a run that reached its limit before n.
func (s *step) commitOverrun(ctx context.Context, n *node) error {
	r := s.run
	e := &RecursionError{Graph: r.app.name, Thread: r.sess.Thread(), Limit: r.budget.limit, Next: n.Name, Cycle: r.app.CycleTo(&n.Node, r.budget.lastRan)}
	var err error
	if r.subrun != nil {
		err = r.record.flush(ctx)
	} else {
		r.record.newChange(posthouse.KindFail, posthouse.StatusFailed, "").Error = e.Error()
		_, err = r.record.commit(ctx, &ledger.Draft{})
	}
	if err != nil {
		return errors.Join(e, err)
	}
	return e
}
