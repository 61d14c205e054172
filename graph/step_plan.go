package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/internal/engine"
)

// plan makes the tasks of the step, and reads what is on record of them. It refuses
// nodes that the graph does not have, and a step beyond the limit.
func (s *step) plan(ctx context.Context) error {
	r := s.run
	for i := range r.frontier.Tasks {
		if t := &r.frontier.Tasks[i]; r.app.node(t) == nil {
			return &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "thread",
				Message: fmt.Sprintf("checkpoint %s goes on at %s, which this version of graph %s cannot run", r.sess.Head().ID, t.Node, r.app.name),
				Hint:    "run it with the graph it was made by, or move it with UpdateOptions.Goto",
			}
		}
	}
	if r.budget.steps >= r.budget.limit {
		return s.commitOverrun(ctx, r.app.node(&r.frontier.Tasks[0]))
	}
	s.count()
	if err := s.flushBeforeSubgraph(ctx); err != nil {
		return err
	}
	for i := range s.tasks {
		t := &s.tasks[i]
		s.initTask(t, i)
		if t.parallel {
			o, err := s.recallTask(ctx, t)
			if err != nil {
				return err
			}
			s.outcomes[i] = o
		}
		if s.outcomes[i] == nil {
			s.todo = append(s.todo, t)
		}
	}
	return nil
}

// count counts the step and the nodes in it. It gives tasks of renamed nodes the names
// that their executions have.
func (s *step) count() {
	r := s.run
	r.budget.steps++
	if len(r.names) > 0 {
		r.frontier.Tasks = slices.Clone(r.frontier.Tasks) // they may be the App's
		for i := range r.frontier.Tasks {
			t := &r.frontier.Tasks[i]
			t.Was = frontier.UnescapeName(r.names.Of(r.pathTo(posthouse.EscapeName(t.Node))))
		}
	}
	for i := range r.frontier.Tasks {
		r.budget.lastRan[r.app.node(&r.frontier.Tasks[i]).Index] = r.budget.steps
	}
}

// flushBeforeSubgraph commits the run's work before it enters a subgraph: the
// checkpoints in there are of the whole.
func (s *step) flushBeforeSubgraph(ctx context.Context) error {
	r := s.run
	kept := func(t frontier.Target) bool {
		sub := r.app.node(&t).Subgraph
		return sub != nil && sub.Kept && !sub.OwnThread
	}
	if !r.record.hasUncommitted || !slices.ContainsFunc(r.frontier.Tasks, kept) {
		return nil
	}
	return r.record.flush(ctx)
}

// initTask makes t one of the frontier's.
func (s *step) initTask(t *task, i int) {
	r := s.run
	t.run, t.parallel = r, !s.single
	t.Target, t.index = &r.frontier.Tasks[i], i
	t.node = r.app.node(t.Target)
	t.key = r.frontier.TaskKey(r.record.step, i)
	t.outcome.task = t
}

// recallTask returns the outcome of a task that completed before, or that would only
// wait on. It returns nil for a task that is to run.
func (s *step) recallTask(ctx context.Context, t *task) (o *outcome, err error) {
	r := s.run
	exec, err := engine.NewTask(ctx, r.sess, t.key)
	if err != nil || exec.Fresh() {
		return nil, err
	}
	defer func() {
		if o != nil && r.subrun != nil {
			r.subrun.exec.Adopt(exec)
		}
	}()
	o = &outcome{task: t, exec: exec, recorded: true}
	rec, ok := exec.Records().Recorded(recorded.Done)
	if !ok {
		o.open = exec.Gates().StillWaitsFor(r.sess.Head().Seq)
		if len(o.open) > 0 {
			o.kind = taskWaits
			return o, nil
		}
		return nil, nil
	}
	d, err := recorded.Read(r.app.Schema, rec.Value.Data, r.renames(), r.fingerprint)
	if err == nil {
		o.writes, o.next, o.parent, o.program = d.Writes, d.Next, d.Parent, d.Program
	}
	return o, err
}
