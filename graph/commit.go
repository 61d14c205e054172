package graph

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
)

// advance commits what a task changed and where it leads.
func (r *run[S]) advance(ctx context.Context, o *outcome[S]) error {
	if err := r.app.after(r.agenda, r.spare, []completion{completed(o.task.target, o.next)}); err != nil {
		return err
	}
	parts, err := r.live.Delta()
	if err != nil {
		return err
	}
	if err := r.live.RereadInterfaces(); err != nil {
		return err
	}
	return r.complete(ctx, r.one[:], parts)
}

// complete commits a step that tasks completed, with the spare agenda, which is
// the one behind it, or keeps it for later. If it cannot, the agenda and what
// they hold are as before.
func (r *run[S]) complete(ctx context.Context, done []*outcome[S], parts []posthouse.Part) error {
	r.agenda, r.spare = r.spare, r.agenda
	var program []posthouse.Part
	var held []posthouse.Step
	for _, o := range done {
		if o.parent != nil { // it ended the subgraph
			*r.agenda = agenda{call: r.agenda.call, step: r.agenda.step, parent: o.parent}
		}
		program = append(program, o.program...)
		held = append(held, o.exec.Held()...)
	}
	err := r.stopLast(ctx, done)
	if err == nil {
		err = r.conclude(ctx, done, parts, program, held)
	}
	if err != nil {
		r.agenda, r.spare = r.spare, r.agenda
		done[0].exec.Return(held)
	} else {
		r.trunk.keep(program)
	}
	r.spare.tasks = nil // what they were sent may be large
	return err
}

// conclude is complete behind what it may have to take back.
func (r *run[S]) conclude(ctx context.Context, done []*outcome[S], parts, program []posthouse.Part, held []posthouse.Step) error {
	status := r.status(done)
	if status != posthouse.StatusRunning && !r.app.check { // append parts are looked at in full where a run parks or ends
		if err := r.live.Verify(); err != nil {
			return err
		}
	}
	if !r.keeps(status, done) {
		r.change.Node = together(done)
		return r.skip(ctx, parts, program, held)
	}
	skipped := r.agenda.skipped
	if r.agenda.skipped, r.ahead = 0, 0; r.nest == nil && status != posthouse.StatusRunning { // a run that was lost did not come further
		r.agenda.renamed, r.agenda.names, r.renamed, r.names = nil, nil, nil, nil
	}
	c := r.fresh(posthouse.KindNode, status, together(done))
	c.Skipped, c.Labels, c.Parts, c.Program = skipped, effects(done), parts, program
	if r.opt.Durability == Async && r.hub == nil && r.nest == nil && status == posthouse.StatusRunning {
		return r.commitLater(ctx, held)
	}
	return r.commit(ctx, held)
}

// fresh makes a change that goes on with the agenda.
func (r *run[S]) fresh(kind string, status posthouse.Status, node string) *posthouse.Change {
	r.change = posthouse.Change{
		Kind: kind, Status: status, Graph: r.app.name, Fingerprint: r.app.fingerprint, Node: node, Next: r.app.names(r.agenda),
	}
	return &r.change
}

// commit commits r.change, the plan, and step results with it.
func (r *run[S]) commit(ctx context.Context, steps []posthouse.Step) error {
	r.draft = posthouse.Draft{}
	r.draft.Steps = steps // in place: a thousand runs at once have shallow stacks
	_, err := r.put(ctx, &r.draft)
	return err
}

// put is commit with all that a draft can hold. A checkpoint that it makes is
// reported.
func (r *run[S]) put(ctx context.Context, d *posthouse.Draft) (done *posthouse.Committed, err error) {
	var began time.Time
	if r.hub != nil {
		began = r.app.ledger.Now()
	}
	if r.nest == nil {
		done, err = r.putOuter(ctx, d)
	} else {
		done, err = r.putInner(ctx, d)
	}
	if err == nil && done != nil && done.Checkpoint != nil {
		r.tellCheckpoint(began)
	}
	return done, err
}

func (r *run[S]) putOuter(ctx context.Context, d *posthouse.Draft) (*posthouse.Committed, error) {
	enc, err := r.prepare()
	if err != nil {
		return nil, err
	}
	r.draft = *d
	r.draft.Checkpoint = &r.change
	done, err := r.sess.Commit(ctx, &r.draft)
	if err == nil {
		r.written(enc)
		r.step = r.sess.Head().Step
	}
	return done, err
}

// prepare adds to r.change what steps changed that made no checkpoint, and the
// plan, which it returns as it will be on record.
func (r *run[S]) prepare() ([]byte, error) {
	p, enc, changed, err := r.agenda.change(planPart, r.plan)
	if err != nil {
		return nil, err
	}
	c := &r.change
	if len(r.since) > 0 {
		c.Parts = state.JoinParts(slices.Clone(r.since), c.Parts) // if it is not committed, since stays what it was
	}
	if len(r.sinceProgram) > 0 {
		c.Program = state.JoinParts(slices.Clone(r.sinceProgram), c.Program)
	}
	if changed {
		c.Program = append(c.Program, p)
	}
	r.stop = c.Status == posthouse.StatusInterrupted
	return enc, nil
}

// written notes that r.change is, or will be, on record.
func (r *run[S]) written(plan []byte) {
	r.plan, r.since, r.sinceProgram, r.behind = plan, nil, nil, false
	r.note(r.change.Program)
}
