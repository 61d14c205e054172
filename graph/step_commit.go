package graph

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/calls"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/ledger"
)

// commit commits a step with completed tasks, or keeps its changes for the next
// checkpoint. If it fails, the frontier and the tasks' held records are as
// before.
func (s *step) commit(ctx context.Context) error {
	if s.failed != nil {
		return nil
	}
	r := s.run
	before := r.frontier
	r.frontier = s.next
	var program []posthouse.Part
	var held []posthouse.Step
	for _, o := range s.outcomes {
		if o.parent != nil { // it ended the subgraph
			*r.frontier = frontier.Frontier{Call: r.frontier.Call, Step: r.frontier.Step, Parent: o.parent}
		}
		program = state.JoinParts(program, o.program)
		held = append(held, o.exec.Records().Held()...)
	}
	err := s.keepEndPending(ctx)
	if err == nil {
		err = s.checkpointOrSkip(ctx, program, held)
	}
	if err == nil {
		r.NoteKept(program)
		s.committed, s.spare = true, before
		s.spare.Tasks = nil // what they were sent may be large
		return nil
	}
	r.frontier = before
	s.outcomes[0].exec.Records().ReturnHeld(held)
	if r.sess.Err() != nil {
		return err
	}
	s.failed = err
	return nil
}

// checkpointOrSkip makes the checkpoint of the step, or keeps what the step changed
// for the next one.
func (s *step) checkpointOrSkip(ctx context.Context, program []posthouse.Part, held []posthouse.Step) error {
	r := s.run
	status := r.statusBehind(s.outcomes)
	if status != posthouse.StatusRunning && !r.app.check { // append parts are looked at in full where a run parks or ends
		if err := r.live.Verify(); err != nil {
			return err
		}
	}
	if !s.makesCheckpoint(status) {
		r.record.change.Node = joinNodes(s.outcomes)
		return r.record.keepForNext(ctx, s.parts, program, held)
	}
	skipped := r.frontier.Skipped
	r.frontier.Skipped, r.record.lostSteps = 0, 0
	if r.subrun == nil && status != posthouse.StatusRunning { // no lost run came further
		r.frontier.Renamed, r.frontier.Names, r.renamed, r.names = nil, nil, nil, nil
	}
	c := r.record.newChange(posthouse.KindNode, status, joinNodes(s.outcomes))
	c.Skipped, c.Labels, c.Parts, c.Program = skipped, effects(s.outcomes), s.parts, program
	if r.opt.Durability == Async && r.report.Hub == nil && r.subrun == nil && status == posthouse.StatusRunning {
		return r.record.commitLater(ctx, held)
	}
	r.record.draft = ledger.Draft{Steps: held}
	_, err := r.record.commit(ctx, &r.record.draft)
	return err
}

func (s *step) makesCheckpoint(status posthouse.Status) bool {
	r := s.run
	if status != posthouse.StatusRunning {
		return true
	}
	if r.opt.Durability == Exit || r.frontier.Skipped < r.record.lostSteps {
		return false // neither did the lost run: what it recorded later is found under the same names
	}
	of := func(n *node) Snapshots {
		if n.opt.Snapshots != SnapshotDefault {
			return n.opt.Snapshots
		}
		return r.app.snapshots
	}
	return slices.ContainsFunc(s.outcomes, func(o *outcome) bool { return of(o.task.node).after() }) ||
		slices.ContainsFunc(r.frontier.Tasks, func(t frontier.Target) bool { return t.Node != End && of(r.app.node(&t)).before() })
}

// keepEndPending puts End on the frontier of a subgraph if the run stops after its
// last nodes. Otherwise the graph around it would go on.
func (s *step) keepEndPending(ctx context.Context) error {
	r := s.run
	after := func(o *outcome) bool { return o.task.node.stopsAfter(&r.breakpoints) }
	if len(r.frontier.Tasks) > 0 || !slices.ContainsFunc(s.outcomes, after) {
		return nil
	}
	called, err := r.subrun != nil, error(nil)
	if !called && r.sess.Branch() == posthouse.MainBranch {
		called, err = calls.IsCalled(context.WithoutCancel(ctx), r.app.ledger, r.sess.Thread()) // what completed is kept
	}
	if err != nil {
		return r.sess.Unanswered(err)
	}
	if called {
		r.frontier.Tasks = []frontier.Target{{Node: End}}
	}
	return nil
}
