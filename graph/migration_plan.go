package graph

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/recorded"
	"github.com/posthouse/posthouse/graph/internal/subparts"
	"github.com/posthouse/posthouse/graph/internal/topology"
	"github.com/posthouse/posthouse/ledger"
)

// A migrationPlan is a checkpoint of another version as this one has it.
type migrationPlan struct {
	from     *posthouse.Checkpoint
	state    posthouse.State
	program  posthouse.State // as migrated, but for the frontier's part
	frontier frontier.Frontier
	used     []migrate.Migration
	progress recorded.Progress
	misfit   []*Mismatch // of the state
	tasks    []*Mismatch // of what is to run
}

// err returns why the checkpoint cannot be taken over; pending says that what
// is to run counts.
func (t *migrationPlan) err(graph, to string, pending bool) *ChangedError {
	all := t.misfit
	if pending {
		all = append(slices.Clip(all), t.tasks...)
	}
	if len(all) == 0 {
		return nil
	}
	return &ChangedError{
		Graph: graph, Thread: t.from.Thread, Branch: t.from.Branch, Checkpoint: t.from.ID, From: t.from.Fingerprint, To: to,
		Migrated: len(t.used) > 0, Mismatches: all,
	}
}

// planMigration migrates a checkpoint in memory and notes what does not fit. head
// says that it is its branch's head.
func (a *App[S]) planMigration(ctx context.Context, c *posthouse.Checkpoint, head bool) (*migrationPlan, error) {
	t := &migrationPlan{from: c, state: c.State, program: c.Program, used: a.migrationsFrom(c.Fingerprint)}
	t.progress = recorded.Progress{Head: &c.Header, Latest: head, By: a.fingerprint}
	var err error
	if t.frontier, err = frontier.ReadFrontier(c.Next, c.Program, frontier.PlanPart); err != nil {
		return nil, err
	}
	if c.Fingerprint == a.fingerprint {
		return t, nil
	}
	if t.state, err = migrate.Parts(t.used, c); err == nil {
		t.misfit = append(t.misfit, topology.PartMisfits(a.schema, a.codec, t.state)...)
	} else if !t.noteMismatch(err) {
		return nil, err
	}
	if len(t.used) > 0 {
		if err := migrate.Frontier(&t.frontier, t.used, ""); err != nil && !t.noteMismatch(err) {
			return nil, err
		}
		if t.program, err = migrate.Program(t.used, c.Program); err != nil && !t.noteMismatch(err) {
			return nil, err
		}
	}
	if len(t.frontier.Tasks) > 0 {
		if t.progress.All, err = a.ledger.Core().Executions(ctx, &c.Header); err != nil {
			return nil, err
		}
	}
	if t.tasks, err = a.pendingMisfits(t, &t.frontier); err != nil {
		return nil, err
	}
	return t, a.innerMisfits(t, "", &t.frontier)
}

// pendingMisfits looks at a frontier and at what its tasks have on record.
func (a *App[S]) pendingMisfits(t *migrationPlan, g *frontier.Frontier) ([]*Mismatch, error) {
	done, err := t.progress.Tasks(a.schema, g)
	return append(a.FrontierMisfits(g), a.ResultMisfits(done)...), err
}

// noteMismatch takes an error that is a mismatch.
func (t *migrationPlan) noteMismatch(err error) bool {
	m, ok := errors.AsType[*Mismatch](err)
	if ok {
		t.misfit = append(t.misfit, m)
	}
	return ok
}

// migrationDraft makes the checkpoint that puts a migration plan of a head on record.
// Gates that are open stay so.
func (a *App[S]) migrationDraft(ctx context.Context, t *migrationPlan) (*ledger.Draft, error) {
	c := t.from
	info, err := a.ledger.Thread(ctx, c.Thread)
	if err != nil {
		return nil, err
	}
	b, _ := info.Branch(c.Branch)
	p, _, changed, err := t.frontier.Part(frontier.PlanPart, c.Program[frontier.PlanPart].Data)
	if err != nil {
		return nil, err
	}
	d := &ledger.Draft{Keep: openGates(info, c.Branch), Checkpoint: &posthouse.Change{
		Parent: c.ID, Kind: posthouse.KindMigrate, Status: b.Status, Graph: a.name, Fingerprint: a.fingerprint,
		Node: migrate.Nodes(t.used, c.Node), Error: c.Error, Next: a.NextNames(&t.frontier), State: t.state,
	}}
	d.Checkpoint.Program = subparts.Change(t.from.Program, t.program)
	if changed {
		d.Checkpoint.Program = append(d.Checkpoint.Program, p)
	}
	return d, nil
}

// openGates returns the gates that are open on a branch.
func openGates(info *posthouse.ThreadInfo, branch string) (ids []posthouse.ID) {
	for _, w := range info.Waiting {
		if w.Branch == branch {
			ids = append(ids, w.ID)
		}
	}
	return ids
}

// migrateHead makes sure that the head fits this version of the graph, and migrates
// it, on record, if it has to be. pending says that what is to run counts.
func (r *run[S]) migrateHead(ctx context.Context, pending bool) error {
	h := r.sess.Head()
	if r.subrun != nil || h == nil || h.Fingerprint == r.app.fingerprint {
		return nil
	}
	c, err := r.app.ledger.Get(ctx, h.ID)
	if err != nil {
		return err
	}
	t, err := r.app.planMigration(ctx, c, true)
	if err != nil {
		return err
	}
	if e := t.err(r.app.name, r.app.fingerprint, pending); e != nil {
		return e
	}
	if len(t.used) == 0 {
		return nil
	}
	if len(t.tasks) > 0 {
		t.frontier = frontier.Frontier{Skipped: t.frontier.Skipped, Epoch: t.frontier.Epoch} // the input starts anew in any case
	}
	d, err := r.app.migrationDraft(ctx, t)
	if err != nil {
		return err
	}
	_, err = r.sess.Commit(ctx, d)
	return err
}
