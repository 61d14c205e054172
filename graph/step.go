package graph

import (
	"context"

	"github.com/posthouse/posthouse"
)

// A step is one turn of a run: the tasks of its frontier, and what comes of them.
// Its stages, each in a file of its own, are given the step and leave in it what
// the next ones need.
type step[S any] struct {
	run      *run[S]
	tasks    []task[S]
	todo     []*task[S]       // those that are to run: the others completed or only wait on
	outcomes []*outcome[S]    // by task; nil for one that was not run
	next     *frontier        // behind the step
	parts    []posthouse.Part // of the state, that the step changed

	committed bool
	failed    error // why a step whose tasks completed cannot be committed
}

// take takes the step. It returns the result of the run if that parks here, and
// nothing if the run goes on.
func (s *step[S]) take(ctx context.Context) (*Result[S], error) {
	if err := s.plan(ctx); err != nil {
		return nil, err
	}
	if err := s.execute(ctx); err != nil {
		return nil, err
	}
	if err := s.merge(); err != nil {
		return nil, err
	}
	if err := s.commit(ctx); err != nil {
		return nil, err
	}
	return s.route(ctx)
}

// isSingle reports whether the step has one task, which works on the state of the
// run itself. Any other works on a state of its own.
func (s *step[S]) isSingle() bool { return s.run.frontier.isAlone() }

// isDone reports whether every task completed: then the step's checkpoint holds
// their results, and nothing else need be recorded.
func (s *step[S]) isDone() bool {
	for _, o := range s.outcomes {
		if o == nil || o.kind != taskDone {
			return false
		}
	}
	return true
}
