package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// routeOutcomes ends a step in which not every task completed, and returns nothing if
// all of them did: a failure comes before a wait.
func (r *run[S]) routeOutcomes(ctx context.Context, ended []*outcome[S]) (*Result[S], error) {
	var failed []*outcome[S]
	var stopped *outcome[S]
	waits, halts, idle := false, false, false
	for _, o := range ended {
		switch {
		case o.kind == taskFailed:
			failed = append(failed, o)
		case o.kind == taskStopped && (stopped == nil || errors.Is(stopped.err, errSibling)):
			stopped = o
		case o.kind == taskWaits:
			waits = true
		case o.kind == taskHalts:
			halts = true
		case o.kind == taskIdle:
			idle = true
		}
	}
	switch {
	case r.sess.Err() != nil:
		var err error
		if stopped != nil {
			err = stopped.err
		}
		return nil, r.sessionError(err)
	case len(failed) > 0:
		held, _ := r.unfinished(ended)
		return nil, r.commitFailure(ctx, joinNodes(failed), held, causes(failed))
	case stopped != nil:
		held, _ := r.unfinished(ended)
		return nil, r.commitHeld(ctx, held, stopped.err)
	case waits:
		return r.parkWaiting(ctx, ended)
	case halts:
		return r.parkInterrupted(ctx, ended)
	case idle:
		if err := r.flush(ctx); err != nil {
			return nil, err
		}
		if r.subrun != nil {
			return nil, &subgraphEnd{}
		}
		return r.finish(EventPark, *r.live.Value, nil), nil
	}
	return nil, nil
}

// causes returns why tasks failed: one error, or all of them with their nodes. Of
// tasks that were sent inputs it says which.
func causes[S any](failed []*outcome[S]) error {
	if len(failed) == 1 && failed[0].task.input == nil {
		return failed[0].err
	}
	errs := make([]error, len(failed))
	for i, o := range failed {
		errs[i] = fmt.Errorf("%s: %w", o.task.title(), o.err)
	}
	return errors.Join(errs...)
}

// parkInterrupted stops a run at a static interrupt inside a subgraph.
func (r *run[S]) parkInterrupted(ctx context.Context, ended []*outcome[S]) (*Result[S], error) {
	if r.subrun != nil {
		if err := r.flush(ctx); err != nil {
			return nil, err
		}
		return nil, &subgraphEnd{halted: true}
	}
	held, _ := r.unfinished(ended)
	r.newChange(posthouse.KindWait, posthouse.StatusInterrupted, joinNodes(ended))
	if _, err := r.commitDraft(ctx, &posthouse.Draft{Steps: held, KeepOpen: true}); err != nil {
		return nil, err
	}
	return r.parkedResult(ctx, nil)
}

// unfinished returns what tasks that did not complete hold, and the gates they have
// open.
func (r *run[S]) unfinished(ended []*outcome[S]) (held []posthouse.Step, keep []posthouse.ID) {
	if r.subrun != nil {
		return nil, nil // the node around it adopted them
	}
	for _, o := range ended {
		if o.exec == nil || o.kind == taskDone {
			continue
		}
		held = append(held, o.exec.Held()...)
		for _, g := range append(o.exec.Open(), o.open...) {
			keep = append(keep, g.ID)
		}
	}
	return held, keep
}

// parkWaiting commits the questions of the tasks that wait, with the state from before
// the step.
func (r *run[S]) parkWaiting(ctx context.Context, ended []*outcome[S]) (*Result[S], error) {
	var waiting, asked []posthouse.Gate
	var names []*outcome[S]
	var stale []posthouse.ID
	var changed error
	for _, o := range ended {
		if o.kind != taskWaits {
			continue
		}
		names = append(names, o)
		if err := o.exec.Changed(); err != nil {
			changed = err
		}
		asked, stale = append(asked, o.exec.Questions()...), append(stale, o.exec.Stale()...)
		for _, g := range append(o.exec.Open(), o.open...) {
			waiting = append(waiting, *g)
		}
	}
	if r.subrun != nil {
		if err := r.flush(ctx); err != nil {
			return nil, err
		}
		e := &subgraphEnd{waits: true}
		for _, o := range names {
			e.open = append(e.open, o.open...)
		}
		return nil, e
	}
	if changed != nil {
		held, _ := r.unfinished(ended)
		return nil, r.commitFailure(ctx, joinNodes(names), held, changed)
	}
	anew := len(asked)+len(stale) > 0 || r.sess.Head().Status != posthouse.StatusWaiting // or it failed, or went on in a subgraph, meanwhile
	if !anew && !r.waitsForTimerSoon(waiting) {
		return r.parkedResult(ctx, waiting)
	}
	if err := r.live.Verify(); err != nil {
		return nil, r.commitFailure(ctx, joinNodes(names), nil, err)
	}
	if anew {
		held, keep := r.unfinished(ended)
		r.newChange(posthouse.KindWait, posthouse.StatusWaiting, joinNodes(names))
		done, err := r.commitDraft(ctx, &posthouse.Draft{Gates: asked, Keep: keep, KeepOpen: r.mayHaveMoreGates(ended), Withdraw: stale, Steps: held})
		if err != nil {
			if r.sess.Err() != nil {
				return nil, err
			}
			return nil, r.commitFailure(ctx, joinNodes(names), held, err)
		}
		if done.Checkpoint.Status == posthouse.StatusReady {
			return nil, r.repeatStep(ctx) // the answer was there already
		}
		waiting = append(waiting, done.Gates...)
	}
	if !r.waitsForTimerSoon(waiting) {
		return r.parkedResult(ctx, waiting)
	}
	return r.waitForTimer(ctx, waiting)
}

// waitsForTimerSoon reports whether the run waits for nothing but timers, one of which is
// over soon: then it does so itself.
func (r *run[S]) waitsForTimerSoon(waiting []posthouse.Gate) bool {
	soon := false
	for i := range waiting {
		g := &waiting[i]
		if g.Kind != posthouse.GateTimer {
			return false
		}
		soon = soon || g.ExpiresAt.Sub(r.app.ledger.Now()) <= r.app.hold
	}
	return soon && r.app.hold > 0
}

// waitForTimer waits for the first of some timers; the step is then taken again.
func (r *run[S]) waitForTimer(ctx context.Context, waiting []posthouse.Gate) (*Result[S], error) {
	first := slices.MinFunc(waiting, func(a, b posthouse.Gate) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	come, err := engine.WaitOrDrain(ctx, r.app.ledger, first.ExpiresAt)
	switch {
	case err != nil:
		return nil, err
	case !come:
		return r.parkedResult(ctx, waiting)
	}
	return nil, r.repeatStep(ctx)
}

// repeatStep takes the step again, with what was decided since.
func (r *run[S]) repeatStep(ctx context.Context) error {
	r.sess.Reread()
	r.steps-- // the step is the same
	return r.load(ctx)
}

// parkedResult ends a run whose head waits: the state is what the head holds.
func (r *run[S]) parkedResult(ctx context.Context, waiting []posthouse.Gate) (*Result[S], error) {
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

// stillUndecided returns the result of resuming a branch of whose gates none was
// decided or ran out: its node would only ask again.
func (r *run[S]) stillUndecided(ctx context.Context) (*Result[S], error) {
	l := r.app.ledger
	info, err := l.Thread(ctx, r.sess.Thread())
	if err != nil {
		return nil, err
	}
	if b, _ := info.Branch(r.sess.Branch()); b.Status != posthouse.StatusWaiting {
		return nil, nil
	}
	var waiting []posthouse.Gate
	for g, err := range l.Gates(ctx, posthouse.GateQuery{Thread: r.sess.Thread(), All: true}) {
		switch {
		case err != nil:
			return nil, err
		case g.Branch != r.sess.Branch():
		case g.Kind == posthouse.GateThread:
			return nil, nil // that thread may have gone on
		case !g.ExpiresAt.IsZero() && !l.Now().Before(g.ExpiresAt):
			return nil, nil
		default:
			waiting = append(waiting, *g)
		}
	}
	if len(waiting) == 0 || r.waitsForTimerSoon(waiting) {
		return nil, nil
	}
	return r.parkedResult(ctx, waiting)
}

// mayHaveMoreGates reports whether tasks of the step, or of a subgraph in it, may have
// questions open that they were not run to ask again.
func (r *run[S]) mayHaveMoreGates(ended []*outcome[S]) bool {
	return len(ended) < len(r.frontier.tasks) || slices.ContainsFunc(ended, func(o *outcome[S]) bool {
		return o.kind != taskDone && o.kind != taskWaits || o.task.node.sub != nil
	})
}

// commitFailure commits a failed checkpoint with the state from before the step and
// returns the failure. The questions of the step's tasks stay open: they may not
// have been run to ask them again.
func (r *run[S]) commitFailure(ctx context.Context, node string, held []posthouse.Step, cause error) error {
	e := &NodeError{
		Graph: r.app.name, Thread: r.sess.Thread(), Branch: r.sess.Branch(), Node: unescapeName(node), Err: cause,
	}
	if r.subrun != nil { // the node around it fails, and says so on record
		if err := r.flush(ctx); err != nil {
			return errors.Join(e, err)
		}
		return e
	}
	status := posthouse.StatusFailed
	if _, ok := errors.AsType[*engine.ChangedError](cause); ok {
		status = posthouse.StatusInterrupted // an answer cannot help it; a person has to look
	}
	r.newChange(posthouse.KindFail, status, node).Error = oneLine(cause.Error())
	if _, err := r.commitDraft(ctx, &posthouse.Draft{Steps: held, KeepOpen: true}); err != nil {
		return errors.Join(e, err)
	}
	e.Checkpoint = r.sess.Head().ID
	return e
}

// sessionError returns why the session ended under a node.
func (r *run[S]) sessionError(err error) error {
	cause := r.sess.Err()
	if err == nil || errors.Is(err, cause) {
		return cause
	}
	return errors.Join(cause, err)
}

// commitHeld leaves the branch as it was before the step.
func (r *run[S]) commitHeld(ctx context.Context, held []posthouse.Step, err error) error {
	if len(held) > 0 {
		if _, e := r.sess.Commit(ctx, &posthouse.Draft{Steps: held}); e != nil {
			err = errors.Join(err, e)
		}
	}
	if e := r.flush(ctx); e != nil {
		err = errors.Join(err, e)
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}

// commitOverrun stops a run that reached its limit before n.
func (r *run[S]) commitOverrun(ctx context.Context, n *node[S]) error {
	e := &RecursionError{Graph: r.app.name, Thread: r.sess.Thread(), Limit: r.limit, Next: n.name, Cycle: r.cycleTo(n)}
	if r.subrun != nil {
		if err := r.flush(ctx); err != nil {
			return errors.Join(e, err)
		}
		return e
	}
	r.newChange(posthouse.KindFail, posthouse.StatusFailed, "").Error = e.Error()
	if err := r.commit(ctx, nil); err != nil {
		return errors.Join(e, err)
	}
	return e
}

// cycleTo returns the nodes that ran since n last did, from n on, in order.
func (r *run[S]) cycleTo(n *node[S]) []string {
	first := r.lastRan[n.index]
	if first == 0 {
		return nil
	}
	var in []*node[S]
	for _, m := range r.app.order {
		if r.lastRan[m.index] >= first {
			in = append(in, m)
		}
	}
	slices.SortFunc(in, func(a, b *node[S]) int { return r.lastRan[a.index] - r.lastRan[b.index] })
	return nodeNames(in)
}

func nodeNames[S any](nodes []*node[S]) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.name
	}
	return names
}

// oneLine makes an error fit for a checkpoint's header: valid text on one line.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
}
