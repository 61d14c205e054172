package graph

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
)

// route decides what follows: the next step, the same again, or the end of the run, which
// parks, fails or drains.
func (s *step) route(ctx context.Context) (*result, error) {
	r := s.run
	switch {
	case s.committed:
		return nil, r.reportStep(s.outcomes)
	case s.failed != nil && s.single:
		o := s.outcomes[0]
		o.kind, o.err = taskFailed, s.failed
		r.reportTaskEnd(o)
	case s.failed != nil:
		if err := s.recordResults(ctx, s.outcomes); err != nil {
			return nil, err
		}
		return nil, r.commitFailure(ctx, joinNodes(s.outcomes), nil, s.failed)
	}
	res, err := s.routeOutcomes(ctx)
	if res != nil || err != nil || slices.ContainsFunc(s.ended(), func(o *outcome) bool { return o.kind != taskDone }) {
		return res, err // both nil: what a task waited for has come, and the step is taken again
	}
	return r.park(ctx) // it was asked to drain: not every task was run
}

// ended returns the outcomes of the tasks that were run, or are on record.
func (s *step) ended() []*outcome {
	if !slices.Contains(s.outcomes, nil) {
		return s.outcomes
	}
	return slices.DeleteFunc(slices.Clone(s.outcomes), func(o *outcome) bool { return o == nil })
}

// routeOutcomes ends a step in which not every task completed. It returns nil if all of
// them did. A failure comes before a wait.
func (s *step) routeOutcomes(ctx context.Context) (*result, error) {
	r := s.run
	var failed []*outcome
	var stopped *outcome
	var has [taskStopped + 1]bool
	for _, o := range s.ended() {
		has[o.kind] = true
		switch {
		case o.kind == taskFailed:
			failed = append(failed, o)
		case o.kind == taskStopped && (stopped == nil || errors.Is(stopped.err, errSibling)):
			stopped = o
		}
	}
	switch {
	case r.sess.Err() != nil:
		var err error
		if stopped != nil {
			err = stopped.err
		}
		return nil, session.WithCause(r.sess.Err(), err)
	case len(failed) > 0:
		held, _ := s.unfinished()
		return nil, r.commitFailure(ctx, joinNodes(failed), held, causes(failed))
	case stopped != nil:
		held, _ := s.unfinished()
		return nil, s.commitHeld(ctx, held, stopped.err)
	case has[taskWaits]:
		return s.parkWaiting(ctx)
	case has[taskHalts]:
		return s.parkInterrupted(ctx)
	case has[taskIdle] && r.subrun != nil:
		return nil, s.leaveSubgraph(ctx, taskIdle, nil, "")
	case has[taskIdle]:
		return r.park(ctx)
	}
	return nil, nil
}

// commitHeld commits the steps that tasks hold. The branch stays as it was before the
// step.
func (s *step) commitHeld(ctx context.Context, held []posthouse.Step, err error) error {
	r := s.run
	if len(held) > 0 {
		if _, e := r.sess.Commit(ctx, &ledger.Draft{Steps: held}); e != nil {
			err = errors.Join(err, e)
		}
	}
	if e := r.record.flush(ctx); e != nil {
		err = errors.Join(err, e)
	}
	return session.WithCause(context.Cause(ctx), err)
}
