package graph

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/topology"
)

// A step runs the tasks of a run's frontier. Its stages, each in a file of its own, leave
// in it what the next ones need.
type step[S any] struct {
	run      *run[S]
	single   bool // it has one task, which works on the state of the run itself
	tasks    []task[S]
	todo     []*task[S]         // those that are to run: the others completed, or wait on
	outcomes []*outcome[S]      // by task; nil for one that was not run
	next     *frontier.Frontier // after the step
	parts    []posthouse.Part   // of the state that the step changed

	committed bool
	failed    error // why a step whose tasks completed cannot be committed

	spare *frontier.Frontier // free for the next step
	one   struct {           // the memory of a step of one task, which allocates nothing
		tasks    [1]task[S]
		todo     [1]*task[S]
		outcomes [1]*outcome[S]
		ends     [1]topology.Completion
	}
}

// reset makes s the next step of its run.
func (s *step[S]) reset() {
	s.single = s.run.frontier.IsAlone()
	s.next, s.parts, s.committed, s.failed = nil, nil, false, nil
	if s.single {
		s.one.tasks[0], s.one.outcomes[0] = task[S]{}, nil
		s.tasks, s.todo, s.outcomes = s.one.tasks[:], s.one.todo[:0], s.one.outcomes[:]
		return
	}
	n := len(s.run.frontier.Tasks)
	s.tasks, s.todo, s.outcomes = make([]task[S], n), nil, make([]*outcome[S], n)
}

// advance takes the step. It returns the result of the run if that parks here, and nil
// if the run goes on.
func (s *step[S]) advance(ctx context.Context) (*Result[S], error) {
	s.reset()
	if err := s.plan(ctx); err != nil {
		return nil, err
	}
	if err := s.execute(ctx); err != nil {
		return nil, err
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
func (s *step[S]) isDone() bool {
	return !slices.ContainsFunc(s.outcomes, func(o *outcome[S]) bool { return o == nil || o.kind != taskDone })
}
