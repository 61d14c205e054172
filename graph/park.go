package graph

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// park commits the questions of a node, with the state from before it.
func (r *run[S]) park(ctx context.Context, n *node[S], task *engine.Task) (*Result[S], error) {
	waiting := make([]posthouse.Gate, 0, 1)
	var keep []posthouse.ID
	for _, g := range task.Open() {
		waiting, keep = append(waiting, *g), append(keep, g.ID)
	}
	if asked := task.Questions(); len(asked) > 0 {
		if err := r.live.verify(); err != nil {
			return nil, r.fail(ctx, n, task, err)
		}
		r.fresh(posthouse.KindWait, posthouse.StatusWaiting, n.name, r.sess.Head().Next)
		done, err := r.sess.Commit(ctx, &posthouse.Draft{
			Checkpoint: &r.change, Gates: asked, Keep: keep, Steps: task.Held(),
		})
		if err != nil {
			if r.sess.Err() != nil {
				return nil, err
			}
			return nil, r.fail(ctx, n, task, err)
		}
		waiting = append(waiting, done.Gates...)
	}
	return r.wait(ctx, waiting)
}

// wait ends a run whose head waits: the state is what the head holds.
func (r *run[S]) wait(ctx context.Context, waiting []posthouse.Gate) (*Result[S], error) {
	c, err := r.app.ledger.Get(ctx, r.sess.Head().ID)
	if err != nil {
		return nil, err
	}
	s, err := r.app.snapshot(c)
	if err != nil {
		return nil, err
	}
	res := r.finish(EventPark, s.State, waiting)
	return res, nil
}

// undecided returns the result of resuming a branch of whose gates none was
// decided or ran out: its node would only ask again.
func (r *run[S]) undecided(ctx context.Context) (*Result[S], error) {
	l := r.app.ledger
	info, err := l.Thread(ctx, r.sess.Thread())
	if err != nil {
		return nil, err
	}
	if b, _ := info.Branch(r.sess.Branch()); b.Status != posthouse.StatusWaiting {
		return nil, nil
	}
	var waiting []posthouse.Gate
	for g, err := range l.Gates(ctx, posthouse.GateQuery{Thread: r.sess.Thread()}) {
		switch {
		case err != nil:
			return nil, err
		case g.Branch != r.sess.Branch():
		case !g.ExpiresAt.IsZero() && !l.Now().Before(g.ExpiresAt):
			return nil, nil
		default:
			waiting = append(waiting, *g)
		}
	}
	if len(waiting) == 0 {
		return nil, nil
	}
	return r.wait(ctx, waiting)
}

// fail commits a failed checkpoint with the state from before the node and
// returns the failure.
func (r *run[S]) fail(ctx context.Context, n *node[S], task *engine.Task, cause error) error {
	e := &NodeError{
		Graph: r.app.name, Thread: r.sess.Thread(), Branch: r.sess.Branch(), Node: n.name, Err: cause,
	}
	r.fresh(posthouse.KindFail, posthouse.StatusFailed, n.name, r.sess.Head().Next).Error = clean(cause.Error())
	if err := r.commit(ctx, task); err != nil {
		return errors.Join(e, err)
	}
	e.Checkpoint = r.sess.Head().ID
	return e
}

// broken returns why the session ended under a node.
func (r *run[S]) broken(err error) error {
	cause := r.sess.Err()
	if err == nil || errors.Is(err, cause) {
		return cause
	}
	return errors.Join(cause, err)
}

// cancelled leaves the branch as it was before the node.
func (r *run[S]) cancelled(ctx context.Context, task *engine.Task, err error) error {
	if held := task.Held(); len(held) > 0 {
		if _, e := r.sess.Commit(ctx, &posthouse.Draft{Steps: held}); e != nil {
			err = errors.Join(err, e)
		}
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}

// overrun stops a run that reached its limit before n.
func (r *run[S]) overrun(ctx context.Context, n *node[S]) error {
	e := &RecursionError{Graph: r.app.name, Thread: r.sess.Thread(), Limit: r.limit, Next: n.name, Cycle: r.cycle(n)}
	r.fresh(posthouse.KindFail, posthouse.StatusFailed, "", r.sess.Head().Next).Error = e.Error()
	if err := r.commit(ctx, nil); err != nil {
		return errors.Join(e, err)
	}
	return e
}

// cycle returns the nodes that ran since n last did, from n on, in order.
func (r *run[S]) cycle(n *node[S]) []string {
	first := r.last[n.index]
	if first == 0 {
		return nil
	}
	var in []*node[S]
	for _, m := range r.app.order {
		if r.last[m.index] >= first {
			in = append(in, m)
		}
	}
	slices.SortFunc(in, func(a, b *node[S]) int { return r.last[a.index] - r.last[b.index] })
	return nodeNames(in)
}

func nodeNames[S any](nodes []*node[S]) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.name
	}
	return names
}

// clean makes an error fit for a checkpoint's header: valid text on one line.
func clean(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
}
