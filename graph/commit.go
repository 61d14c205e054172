package graph

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
)

// commitSingle commits what a task changed and where it leads.
func (r *run[S]) commitSingle(ctx context.Context, o *outcome[S]) error {
	if err := r.app.advanceFrontier(r.frontier, r.nextFrontier, []completion{taskCompletion(o.task.target, o.next)}); err != nil {
		return err
	}
	parts, err := r.live.Delta()
	if err != nil {
		return err
	}
	if err := r.live.RereadInterfaces(); err != nil {
		return err
	}
	return r.completeStep(ctx, r.singleOutcome[:], parts)
}

// completeStep commits a step that tasks completed, with the spare frontier, which is
// the one behind it, or keeps it for later. If it cannot, the frontier and what
// they hold are as before.
func (r *run[S]) completeStep(ctx context.Context, done []*outcome[S], parts []posthouse.Part) error {
	r.frontier, r.nextFrontier = r.nextFrontier, r.frontier
	var program []posthouse.Part
	var held []posthouse.Step
	for _, o := range done {
		if o.parent != nil { // it ended the subgraph
			*r.frontier = frontier{call: r.frontier.call, step: r.frontier.step, parent: o.parent}
		}
		program = append(program, o.program...)
		held = append(held, o.exec.Held()...)
	}
	err := r.keepEndPending(ctx, done)
	if err == nil {
		err = r.commitOrSkip(ctx, done, parts, program, held)
	}
	if err != nil {
		r.frontier, r.nextFrontier = r.nextFrontier, r.frontier
		done[0].exec.Return(held)
	} else {
		r.rootState.noteKept(program)
	}
	r.nextFrontier.tasks = nil // what they were sent may be large
	return err
}

// commitOrSkip is complete behind what it may have to take back.
func (r *run[S]) commitOrSkip(ctx context.Context, done []*outcome[S], parts, program []posthouse.Part, held []posthouse.Step) error {
	status := r.statusBehind(done)
	if status != posthouse.StatusRunning && !r.app.check { // append parts are looked at in full where a run parks or ends
		if err := r.live.Verify(); err != nil {
			return err
		}
	}
	if !r.makesCheckpoint(status, done) {
		r.change.Node = joinNodes(done)
		return r.keepForNext(ctx, parts, program, held)
	}
	skipped := r.frontier.skipped
	if r.frontier.skipped, r.lostSteps = 0, 0; r.subrun == nil && status != posthouse.StatusRunning { // a run that was lost did not come further
		r.frontier.renamed, r.frontier.names, r.renamed, r.names = nil, nil, nil, nil
	}
	c := r.newChange(posthouse.KindNode, status, joinNodes(done))
	c.Skipped, c.Labels, c.Parts, c.Program = skipped, effects(done), parts, program
	if r.opt.Durability == Async && r.hub == nil && r.subrun == nil && status == posthouse.StatusRunning {
		return r.commitLater(ctx, held)
	}
	return r.commit(ctx, held)
}

// newChange makes a change that goes on with the frontier.
func (r *run[S]) newChange(kind string, status posthouse.Status, node string) *posthouse.Change {
	r.change = posthouse.Change{
		Kind: kind, Status: status, Graph: r.app.name, Fingerprint: r.app.fingerprint, Node: node, Next: r.app.nextNames(r.frontier),
	}
	return &r.change
}

// commit commits r.change, the plan, and step results with it.
func (r *run[S]) commit(ctx context.Context, steps []posthouse.Step) error {
	r.draft = posthouse.Draft{}
	r.draft.Steps = steps // in place: a thousand runs at once have shallow stacks
	_, err := r.commitDraft(ctx, &r.draft)
	return err
}

// commitDraft is commit with all that a draft can hold. A checkpoint that it makes is
// reported.
func (r *run[S]) commitDraft(ctx context.Context, d *posthouse.Draft) (done *posthouse.Committed, err error) {
	var began time.Time
	if r.hub != nil {
		began = r.app.ledger.Now()
	}
	if r.subrun == nil {
		done, err = r.commitRoot(ctx, d)
	} else {
		done, err = r.commitInner(ctx, d)
	}
	if err == nil && done != nil && done.Checkpoint != nil {
		r.reportCheckpoint(began)
	}
	return done, err
}

func (r *run[S]) commitRoot(ctx context.Context, d *posthouse.Draft) (*posthouse.Committed, error) {
	enc, err := r.addUncommitted()
	if err != nil {
		return nil, err
	}
	r.draft = *d
	r.draft.Checkpoint = &r.change
	done, err := r.sess.Commit(ctx, &r.draft)
	if err == nil {
		r.markCommitted(enc)
		r.step = r.sess.Head().Step
	}
	return done, err
}

// addUncommitted adds to r.change what steps changed that made no checkpoint, and the
// plan, which it returns as it will be on record.
func (r *run[S]) addUncommitted() ([]byte, error) {
	p, enc, changed, err := r.frontier.part(planPart, r.plan)
	if err != nil {
		return nil, err
	}
	c := &r.change
	if len(r.uncommitted) > 0 {
		c.Parts = state.JoinParts(slices.Clone(r.uncommitted), c.Parts) // if it is not committed, since stays what it was
	}
	if len(r.uncommittedProgram) > 0 {
		c.Program = state.JoinParts(slices.Clone(r.uncommittedProgram), c.Program)
	}
	if changed {
		c.Program = append(c.Program, p)
	}
	r.interrupted = c.Status == posthouse.StatusInterrupted
	return enc, nil
}

// markCommitted notes that r.change is, or will be, on record.
func (r *run[S]) markCommitted(plan []byte) {
	r.plan, r.uncommitted, r.uncommittedProgram, r.hasUncommitted = plan, nil, nil, false
	r.noteParts(r.change.Program)
}
