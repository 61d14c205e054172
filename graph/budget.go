package graph

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
)

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
	e := &RecursionError{Graph: r.app.name, Thread: r.sess.Thread(), Limit: r.budget.limit, Next: n.name, Cycle: cycleTo(&r.budget, r.app.order, n)}
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
	first := b.lastRan[n.index]
	if first == 0 {
		return nil
	}
	var in []*node[S]
	for _, m := range order {
		if b.lastRan[m.index] >= first {
			in = append(in, m)
		}
	}
	slices.SortFunc(in, func(x, y *node[S]) int { return b.lastRan[x.index] - b.lastRan[y.index] })
	return nodeNames(in)
}

func nodeNames[S any](nodes []*node[S]) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.name
	}
	return names
}
