package graph

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/topology"
)

// A step runs the tasks of a run's frontier. Its stages, each in a file of its own, leave
// in it what the next ones need.
type step struct {
	run      *run
	single   bool // it has one task, which works on the state of the run itself
	tasks    []task
	todo     []*task            // those that are to run: the others completed, or wait on
	outcomes []*outcome         // by task; nil for one that was not run
	next     *frontier.Frontier // after the step
	parts    []posthouse.Part   // of the state that the step changed

	committed bool
	failed    error // why a step cannot be committed though its tasks completed

	spare *frontier.Frontier // free for the next step
	one   struct {           // the memory of a step of one task, which allocates nothing
		tasks    [1]task
		todo     [1]*task
		outcomes [1]*outcome
		ends     [1]topology.Completion
	}
}

// reset makes s the next step of its run.
func (s *step) reset() {
	s.single = s.run.frontier.IsAlone()
	s.next, s.parts, s.committed, s.failed = nil, nil, false, nil
	if s.single {
		s.one.tasks[0], s.one.outcomes[0] = task{}, nil
		s.tasks, s.todo, s.outcomes = s.one.tasks[:], s.one.todo[:0], s.one.outcomes[:]
		return
	}
	n := len(s.run.frontier.Tasks)
	s.tasks, s.todo, s.outcomes = make([]task, n), nil, make([]*outcome, n)
}

// advance takes the step. It returns the result of the run if that parks here, and nil
// if the run goes on.
func (s *step) advance(ctx context.Context) (*result, error) {
	s.reset()
	if err := s.plan(ctx); err != nil {
		return nil, err
	}
	if err := s.execute(ctx); err != nil {
		return nil, err
	}
	tale := &s.run.record.tale
	if !s.run.record.hasUncommitted {
		*tale = recorded.Tale{}
	}
	for _, o := range s.outcomes {
		if o != nil && !o.recorded && !o.tale.Began.IsZero() { // the others say it themselves
			tale.Add(o.tale)
		}
	}
	if s.isDone() {
		if err := s.merge(); err != nil {
			return nil, err
		}
		if err := s.commit(ctx); err != nil {
			return nil, err
		}
	}
	return s.route(ctx)
}

// isDone reports whether every task completed. The step's checkpoint then holds their
// results, and nothing else need be recorded.
func (s *step) isDone() bool {
	return !slices.ContainsFunc(s.outcomes, func(o *outcome) bool { return o == nil || o.kind != taskDone })
}
