package graph

import (
	"context"
	"fmt"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/child"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/internal/engine"
)

// A NodeUpdate is one change of [App.BulkUpdate].
type NodeUpdate[S any] struct {
	Node   string     // required: as if this node, or Start, had made it
	Task   int        // as UpdateOptions.Task
	Change func(s *S) // nil: none
}

// BulkUpdate is [App.Update] for several steps at once. Each step makes a checkpoint
// after the one before it. The updates of a step are made side by side, as by nodes
// that run at once. They are merged by the rules of the parts, with the same errors,
// and keep to the rules for nodes. An update with Start is alone in its step. BulkUpdate
// works out all steps before it puts the first on record, and nobody else runs the
// thread meanwhile. It returns the last checkpoint.
func (a *App[S]) BulkUpdate(ctx context.Context, thread string, steps [][]NodeUpdate[S], o ...UpdateOptions) (*Snapshot[S], error) {
	opt, err := engine.One(o)
	switch {
	case err != nil:
		return nil, err
	case opt.AsNode != "" || opt.Goto != "" || opt.Task != 0:
		return nil, posthouse.Invalid("options", "name AsNode, Goto or Task: name the node of each update")
	case len(steps) == 0:
		return nil, posthouse.Invalid("steps", "are none")
	}
	base, err := updateBase(a, ctx, thread, &opt)
	if err != nil {
		return nil, err
	}
	changes := make([]*posthouse.Change, len(steps))
	at := base
	for i, us := range steps {
		if changes[i], at, err = a.bulkStep(ctx, at, us, &opt, i == 0); err != nil {
			return nil, fmt.Errorf("posthouse: step %d of the update: %w", i+1, err)
		}
	}
	id, err := child.CommitAll(ctx, a.ledger, base, changes, opt.NewBranch)
	if err != nil {
		return nil, err
	}
	return a.State(ctx, base.Thread, StateOptions{Checkpoint: id})
}

// bulkStep makes one step's child of a checkpoint, and the checkpoint that it
// will be.
func (a *App[S]) bulkStep(ctx context.Context, base *posthouse.Checkpoint, us []NodeUpdate[S], all *UpdateOptions, recorded bool) (*posthouse.Change, *posthouse.Checkpoint, error) {
	opt := UpdateOptions{Labels: all.Labels}
	as := make([]nodeTask, len(us))
	for i, u := range us {
		if u.Node == "" {
			return nil, nil, posthouse.Invalid("Node", "is missing: name the node that made the update; checkpoint %s goes on at %q", base.ID, base.Next)
		}
		as[i] = nodeTask{u.Node, u.Task}
	}
	switch len(us) {
	case 0:
		return nil, nil, posthouse.Invalid("step", "has no update")
	case 1:
		opt.AsNode, opt.Task, as = us[0].Node, us[0].Task, nil
	}
	e, err := a.edit(ctx, base, opt, recorded, as...)
	if err != nil {
		return nil, nil, err
	}
	if len(us) > 1 {
		err = e.mergeUpdates(us)
	} else {
		err = applyChange(us[0].Change, e.live.Value)
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := e.change(all.By)
	if err != nil {
		return nil, nil, err
	}
	next, err := e.checkpointOf(c)
	return c, next, err
}

// mergeUpdates makes several updates, each on a state of its own, and merges them.
func (e *edit[S]) mergeUpdates(us []NodeUpdate[S]) error {
	all, names := make([]*outcome[S], len(us)), make([]string, len(us))
	for i := range us {
		if names[i] = us[i].Node; us[i].Task != 0 {
			names[i] += "#" + strconv.Itoa(us[i].Task)
		}
		n := e.app.nodes[us[i].Node]
		t := &task[S]{Target: &n.Self[0], node: n}
		live, err := branchOf(e.live, e.app.Schema, t)
		if err != nil {
			return err
		}
		if err := applyChange(us[i].Change, live.Value); err != nil {
			return err
		}
		all[i] = &outcome[S]{task: t}
		if all[i].writes, err = live.Writes(); err != nil {
			return err
		}
		if err := e.addEnd(n.Name, live.Value); err != nil {
			return err
		}
	}
	return e.merge(all, names)
}

// checkpointOf returns the checkpoint that a change will be.
func (e *edit[S]) checkpointOf(c *posthouse.Change) (*posthouse.Checkpoint, error) {
	m := &posthouse.Checkpoint{Header: e.base.Header, State: c.State, Program: state.Overlay(e.base.Program, nil)}
	m.Parent, m.Kind, m.Status, m.Node, m.Next, m.Fingerprint = e.base.ID, c.Kind, c.Status, c.Node, c.Next, c.Fingerprint
	if m.State == nil {
		m.State = state.Overlay(e.state, c.Parts)
	}
	return m, state.ApplyParts(m.Program, c.Program)
}
