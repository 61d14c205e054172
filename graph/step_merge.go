package graph

import (
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/graph/internal/topology"
)

// merge merges what the completed tasks wrote into the state of the run. It works out
// the frontier after the step.
func (s *step) merge() error {
	r := s.run
	if !s.single && r.sess.Err() != nil {
		return r.sess.Err()
	}
	s.failed = s.mergeState()
	if s.failed != nil && r.sess.Err() != nil {
		return s.failed
	}
	return nil
}

func (s *step) mergeState() (err error) {
	r := s.run
	if !s.single {
		wrote := make([]state.Result, len(s.outcomes))
		for i, o := range s.outcomes {
			wrote[i] = state.Result{Task: o.task.title(), Empty: o.task.Input != nil, Writes: o.writes}
		}
		if err := r.live.Merge(wrote); err != nil {
			return err
		}
	}
	ends := s.one.ends[:]
	if !s.single {
		ends = make([]topology.Completion, len(s.outcomes))
	}
	for i, o := range s.outcomes {
		ends[i] = topology.TaskCompletion(o.task.Target, o.next)
	}
	s.next, s.spare = s.spare, nil
	if s.next == nil {
		s.next = &frontier.Frontier{}
	}
	if err := r.app.AdvanceFrontier(r.frontier, s.next, ends); err != nil {
		return err
	}
	s.parts, err = r.live.Delta()
	if err != nil {
		return err
	}
	if s.single {
		return r.live.Reread()
	}
	return r.live.Detach()
}
